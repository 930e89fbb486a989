-- Campaigns as operators look for them, and given to another owner.
CREATE INDEX campaigns_by_stored ON campaigns (stored_ms, number);

-- What a campaign is found by stands beside it, so that a search does not read the checkpoints of all.
ALTER TABLE campaigns ADD COLUMN name TEXT NOT NULL DEFAULT '';  -- of its newest checkpoint; '' when it has none
ALTER TABLE campaigns ADD COLUMN level TEXT NOT NULL DEFAULT ''; -- the same

UPDATE campaigns
SET name = k.name, level = k.level
FROM checkpoints k
WHERE k.campaign = campaigns.number
AND k.version = (SELECT max(n.version) FROM checkpoints n WHERE n.campaign = campaigns.number AND n.is_conflict = 0);

-- A new one is always the newest, unless it is kept beside that.
CREATE TRIGGER checkpoint_named AFTER INSERT ON checkpoints WHEN NEW.is_conflict = 0 BEGIN
	UPDATE campaigns SET name = NEW.name, level = NEW.level WHERE number = NEW.campaign;
END;

CREATE TRIGGER checkpoint_unnamed AFTER DELETE ON checkpoints WHEN OLD.is_conflict = 0 BEGIN
	UPDATE campaigns
	SET name = coalesce((SELECT n.name FROM checkpoints n WHERE n.campaign = OLD.campaign AND n.is_conflict = 0
	                     ORDER BY n.version DESC LIMIT 1), ''),
	    level = coalesce((SELECT n.level FROM checkpoints n WHERE n.campaign = OLD.campaign AND n.is_conflict = 0
	                      ORDER BY n.version DESC LIMIT 1), '')
	WHERE number = OLD.campaign;
END;

-- The sums of both owners follow.
CREATE TRIGGER campaign_given AFTER UPDATE OF owner ON campaigns WHEN NEW.owner <> OLD.owner BEGIN
	UPDATE holders
	SET campaigns = campaigns - (OLD.trashed_ms IS NULL),
	    bytes = bytes - iif(OLD.trashed_ms IS NULL, OLD.bytes, 0),
	    spare = spare - iif(OLD.trashed_ms IS NULL, OLD.spare, 0)
	WHERE player = OLD.owner;
	UPDATE holders
	SET campaigns = campaigns + (NEW.trashed_ms IS NULL),
	    bytes = bytes + iif(NEW.trashed_ms IS NULL, NEW.bytes, 0),
	    spare = spare + iif(NEW.trashed_ms IS NULL, NEW.spare, 0)
	WHERE player = NEW.owner;
END;

-- What is in the trash is looked for by name, too; its number tells two of one id apart.
DROP VIEW campaign_trash;
CREATE VIEW campaign_trash AS
SELECT lower(hex(id)) AS campaign,
       number,
       lower(hex(owner)) AS owner,
       name,
       level,
       bytes,
       datetime(stored_ms / 1000, 'unixepoch') AS stored,
       datetime(trashed_ms / 1000, 'unixepoch') AS deleted
FROM campaigns
WHERE trashed_ms IS NOT NULL;
