-- What people read with sqlite3 -readonly: ids in hex, times in UTC.  What is in the trash is only in campaign_trash.
CREATE VIEW campaign_list AS
SELECT lower(hex(c.id)) AS campaign,
       lower(hex(c.owner)) AS owner,
       k.name,
       k.level,
       k.version, -- of the newest checkpoint
       (SELECT count(*) FROM checkpoints o WHERE o.campaign = c.number) AS checkpoints,
       c.bytes,   -- of all of them
       datetime(c.stored_ms / 1000, 'unixepoch') AS stored,
       datetime(c.used_ms / 1000, 'unixepoch') AS used,
       iif(c.used_day <= (SELECT max(campaigns_to) FROM uptime_days), 'yes', 'no') AS marked -- goes in some days
FROM campaigns c
LEFT JOIN checkpoints k
       ON k.campaign = c.number
      AND k.version = (SELECT max(n.version) FROM checkpoints n WHERE n.campaign = c.number AND n.is_conflict = 0)
WHERE c.trashed_ms IS NULL;

CREATE VIEW campaign_trash AS
SELECT lower(hex(id)) AS campaign,
       lower(hex(owner)) AS owner,
       bytes,
       datetime(trashed_ms / 1000, 'unixepoch') AS deleted
FROM campaigns
WHERE trashed_ms IS NOT NULL;

-- Who may load which campaign.
CREATE VIEW access AS
SELECT lower(hex(id)) AS campaign, lower(hex(owner)) AS player, 'owner' AS role
FROM campaigns
WHERE trashed_ms IS NULL
UNION ALL
SELECT lower(hex(c.id)), lower(hex(m.player)), 'member'
FROM campaigns c
JOIN members m ON m.campaign = c.number
WHERE c.trashed_ms IS NULL AND m.state = 0;

-- How much each player uses; an empty limit is the default.
CREATE VIEW quota_use AS
SELECT lower(hex(h.player)) AS player,
       h.campaigns,
       q.campaigns AS campaigns_limit,
       h.bytes,
       q.bytes AS bytes_limit
FROM holders h
LEFT JOIN player_quotas q ON q.player = h.player;

-- What was stored since midnight UTC and is still there.
CREATE VIEW stored_today AS
SELECT datetime(k.stored_ms / 1000, 'unixepoch') AS stored,
       lower(hex(c.id)) AS campaign,
       k.version,
       lower(hex(k.player)) AS player,
       k.bytes,
       k.name,
       k.level,
       iif(k.is_small, 'yes', 'no') AS small
FROM checkpoints k
JOIN campaigns c ON c.number = k.campaign
WHERE c.trashed_ms IS NULL AND k.stored_ms >= unixepoch('now', 'start of day') * 1000;
