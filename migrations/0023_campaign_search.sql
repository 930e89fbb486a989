-- Campaigns as operators look for them, and given to another owner.
CREATE INDEX campaigns_by_stored ON campaigns (stored_ms, number);

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
SELECT lower(hex(c.id)) AS campaign,
       c.number,
       lower(hex(c.owner)) AS owner,
       k.name,
       k.level,
       c.bytes,
       datetime(c.stored_ms / 1000, 'unixepoch') AS stored,
       datetime(c.trashed_ms / 1000, 'unixepoch') AS deleted
FROM campaigns c
LEFT JOIN checkpoints k
       ON k.campaign = c.number
      AND k.version = (SELECT max(n.version) FROM checkpoints n WHERE n.campaign = c.number AND n.is_conflict = 0)
WHERE c.trashed_ms IS NOT NULL;
