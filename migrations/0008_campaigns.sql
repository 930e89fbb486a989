-- Campaigns.  A deleted one stays as a row in the trash for some days while its id is free for a new one.
CREATE TABLE campaigns (
	number      INTEGER PRIMARY KEY AUTOINCREMENT,     -- tells a campaign from a later one of the same id
	id          BLOB NOT NULL CHECK (length(id) = 8),  -- chosen by the game of whoever stored first
	owner       BLOB NOT NULL REFERENCES players (id), -- whoever stored first
	made_ms     INTEGER NOT NULL,
	stored_ms   INTEGER NOT NULL,                      -- last time something was stored
	used_ms     INTEGER NOT NULL,                      -- last time something was stored or loaded
	used_day    INTEGER NOT NULL CHECK (used_day >= 0), -- the same as a day of uptime_days; 0: before the first
	bytes       INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),                 -- of all its checkpoints
	spare       INTEGER NOT NULL DEFAULT 0 CHECK (spare BETWEEN 0 AND bytes),  -- of those that may go when room is short
	trashed_ms  INTEGER,                               -- when it was deleted; NULL: it was not
	trashed_day INTEGER,                               -- the same as a day of uptime_days
	CHECK ((trashed_ms IS NULL) = (trashed_day IS NULL))
) STRICT;

CREATE UNIQUE INDEX campaigns_live ON campaigns (id) WHERE trashed_ms IS NULL;
CREATE INDEX campaigns_by_id ON campaigns (id);
CREATE INDEX campaigns_by_owner ON campaigns (owner, trashed_ms);
CREATE INDEX campaigns_by_use ON campaigns (used_day) WHERE trashed_ms IS NULL;
CREATE INDEX campaigns_in_trash ON campaigns (trashed_day, trashed_ms) WHERE trashed_ms IS NOT NULL;

-- The last version given for an id.  It stays long after the id's last campaign, so that a number that was shown to a
-- player does not mean something else; not for ever, as anybody can make ids.
CREATE TABLE versions (
	id       BLOB PRIMARY KEY CHECK (length(id) = 8),
	last     INTEGER NOT NULL CHECK (last > 0),
	gone_day INTEGER CHECK (gone_day >= 0) -- the day of uptime_days on which its last campaign went; NULL: it has one
) STRICT, WITHOUT ROWID;

CREATE INDEX versions_gone ON versions (gone_day) WHERE gone_day IS NOT NULL;

CREATE TRIGGER version_gone AFTER DELETE ON campaigns BEGIN
	UPDATE versions
	SET gone_day = (SELECT coalesce(max(day), 0) FROM uptime_days)
	WHERE id = OLD.id AND NOT EXISTS (SELECT 1 FROM campaigns WHERE id = OLD.id);
END;

-- Like marked_to, for campaigns.
ALTER TABLE uptime_days ADD COLUMN campaigns_to INTEGER CHECK (campaigns_to < day);
