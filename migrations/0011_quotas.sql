-- How much everybody uses, and may use.  What is used is kept as sums by triggers, so that asking costs the same
-- however much there is.

-- Players who stored: what they hold, which is the campaigns they own.
CREATE TABLE holders (
	player    BLOB PRIMARY KEY REFERENCES players (id) ON DELETE CASCADE,
	made_ms   INTEGER NOT NULL,                         -- first upload
	addr      BLOB CHECK (length(addr) = 16),           -- keyed hash of its address while the player is young; then NULL
	campaigns INTEGER NOT NULL DEFAULT 0 CHECK (campaigns >= 0), -- without those in the trash, like all here
	bytes     INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
	spare     INTEGER NOT NULL DEFAULT 0 CHECK (spare BETWEEN 0 AND bytes)
) STRICT, WITHOUT ROWID;

CREATE INDEX holders_by_addr ON holders (addr) WHERE addr IS NOT NULL;
CREATE INDEX holders_young ON holders (made_ms) WHERE addr IS NOT NULL;
CREATE INDEX holders_idle ON holders (made_ms) WHERE campaigns = 0;
CREATE INDEX holders_to_shed ON holders (bytes) WHERE spare > 0;

-- All together: one row.
CREATE TABLE cloud_totals (
	one       INTEGER PRIMARY KEY CHECK (one = 1),
	campaigns INTEGER NOT NULL CHECK (campaigns >= 0),
	bytes     INTEGER NOT NULL CHECK (bytes >= 0),
	spare     INTEGER NOT NULL CHECK (spare BETWEEN 0 AND bytes),
	trash     INTEGER NOT NULL CHECK (trash >= 0)        -- bytes in the trash, which are not in bytes
) STRICT;

INSERT INTO cloud_totals (one, campaigns, bytes, spare, trash) VALUES (1, 0, 0, 0, 0);

-- What differs from the limits for one player or campaign; NULL: nothing.
CREATE TABLE player_quotas (
	player     BLOB PRIMARY KEY CHECK (length(player) = 8),
	campaigns  INTEGER CHECK (campaigns >= 0),
	bytes      INTEGER CHECK (bytes >= 0),
	checkpoint INTEGER CHECK (checkpoint >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE campaign_quotas (
	campaign   BLOB PRIMARY KEY CHECK (length(campaign) = 8), -- its id
	bytes      INTEGER CHECK (bytes >= 0),
	checkpoint INTEGER CHECK (checkpoint >= 0)
) STRICT, WITHOUT ROWID;

-- New players of one address.
CREATE INDEX new_players_by_addr ON new_players (addr, at_ms);

CREATE TRIGGER checkpoint_added AFTER INSERT ON checkpoints BEGIN
	UPDATE campaigns
	SET bytes = bytes + NEW.bytes, spare = spare + iif(NEW.spare > 0, NEW.bytes, 0)
	WHERE number = NEW.campaign;
END;

CREATE TRIGGER checkpoint_removed AFTER DELETE ON checkpoints BEGIN
	UPDATE campaigns
	SET bytes = bytes - OLD.bytes, spare = spare - iif(OLD.spare > 0, OLD.bytes, 0)
	WHERE number = OLD.campaign;
END;

CREATE TRIGGER checkpoint_spared AFTER UPDATE OF spare ON checkpoints BEGIN
	UPDATE campaigns
	SET spare = spare + iif(NEW.spare > 0, NEW.bytes, 0) - iif(OLD.spare > 0, OLD.bytes, 0)
	WHERE number = NEW.campaign;
END;

CREATE TRIGGER campaign_added AFTER INSERT ON campaigns BEGIN
	UPDATE holders SET campaigns = campaigns + 1 WHERE player = NEW.owner;
	UPDATE cloud_totals SET campaigns = campaigns + 1;
END;

-- Also into the trash and out of it again.
CREATE TRIGGER campaign_changed AFTER UPDATE OF bytes, spare, trashed_ms ON campaigns BEGIN
	UPDATE holders
	SET campaigns = campaigns + (NEW.trashed_ms IS NULL) - (OLD.trashed_ms IS NULL),
	    bytes = bytes + iif(NEW.trashed_ms IS NULL, NEW.bytes, 0) - iif(OLD.trashed_ms IS NULL, OLD.bytes, 0),
	    spare = spare + iif(NEW.trashed_ms IS NULL, NEW.spare, 0) - iif(OLD.trashed_ms IS NULL, OLD.spare, 0)
	WHERE player = NEW.owner;
	UPDATE cloud_totals
	SET campaigns = campaigns + (NEW.trashed_ms IS NULL) - (OLD.trashed_ms IS NULL),
	    bytes = bytes + iif(NEW.trashed_ms IS NULL, NEW.bytes, 0) - iif(OLD.trashed_ms IS NULL, OLD.bytes, 0),
	    spare = spare + iif(NEW.trashed_ms IS NULL, NEW.spare, 0) - iif(OLD.trashed_ms IS NULL, OLD.spare, 0),
	    trash = trash + iif(NEW.trashed_ms IS NULL, 0, NEW.bytes) - iif(OLD.trashed_ms IS NULL, 0, OLD.bytes);
END;

-- Its checkpoints are gone by then.
CREATE TRIGGER campaign_removed AFTER DELETE ON campaigns BEGIN
	UPDATE holders SET campaigns = campaigns - (OLD.trashed_ms IS NULL) WHERE player = OLD.owner;
	UPDATE cloud_totals SET campaigns = campaigns - (OLD.trashed_ms IS NULL);
END;
