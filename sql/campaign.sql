-- Campaigns, their checkpoints and members.  What is in the trash is seen by the queries that say so only.

-- name: campaign_look
SELECT c.number, c.owner, c.bytes, c.spare, m.state, m.used
FROM campaigns c
LEFT JOIN members m ON m.campaign = c.number AND m.player = :player
WHERE c.id = :id AND c.trashed_ms IS NULL;

-- name: campaign_each
-- His own; then those he used; then others, few of one owner.  In each part the one stored last comes first.
SELECT number, id, owner, bytes, part FROM (
	SELECT c.number, c.id, c.owner, c.bytes, c.stored_ms, 0 AS part, 1 AS of_owner, 1 AS of_all
	FROM campaigns c
	WHERE c.owner = :player AND c.trashed_ms IS NULL
	UNION ALL
	SELECT c.number, c.id, c.owner, c.bytes, c.stored_ms, 1, 1, 1
	FROM members m JOIN campaigns c ON c.number = m.campaign
	WHERE m.player = :player AND m.state = 0 AND m.used = 1 AND c.trashed_ms IS NULL
	UNION ALL
	SELECT *, row_number() OVER (ORDER BY stored_ms DESC, number DESC) FROM (
		SELECT c.number, c.id, c.owner, c.bytes, c.stored_ms, 2,
		       row_number() OVER (PARTITION BY c.owner ORDER BY c.stored_ms DESC, c.number DESC) AS of_owner
		FROM members m JOIN campaigns c ON c.number = m.campaign
		WHERE m.player = :player AND m.state = 0 AND m.used = 0 AND c.trashed_ms IS NULL
		AND (:containers = 0 OR EXISTS (SELECT 1 FROM checkpoints k WHERE k.campaign = c.number
		                                AND k.is_container = 1 AND k.is_conflict = 0))
	) WHERE of_owner <= :per_owner
)
WHERE of_all <= :others
ORDER BY part, stored_ms DESC, number DESC;

-- name: campaign_insert
INSERT INTO campaigns (id, owner, made_ms, stored_ms, used_ms, used_day)
VALUES (:id, :owner, :now_ms, :now_ms, :now_ms, (SELECT coalesce(max(day), 0) FROM uptime_days))
RETURNING number;

-- name: campaign_stored
UPDATE campaigns
SET stored_ms = :now_ms, used_ms = :now_ms, used_day = (SELECT coalesce(max(day), 0) FROM uptime_days)
WHERE number = :campaign;

-- name: campaign_used
UPDATE campaigns
SET used_ms = :now_ms, used_day = (SELECT coalesce(max(day), 0) FROM uptime_days)
WHERE number = :campaign;

-- name: campaign_trash
UPDATE campaigns
SET trashed_ms = :now_ms, trashed_day = (SELECT coalesce(max(day), 0) FROM uptime_days)
WHERE number = :campaign;

-- name: campaign_remove
DELETE FROM campaigns WHERE number = :campaign;

-- name: trash_of_owner
SELECT count(*), min(number) FROM campaigns WHERE owner = :owner AND trashed_ms IS NOT NULL;

-- name: trash_oldest
SELECT number, bytes FROM campaigns WHERE trashed_ms IS NOT NULL ORDER BY trashed_day, trashed_ms LIMIT 1;

-- name: trash_due
SELECT number FROM campaigns WHERE trashed_ms IS NOT NULL AND trashed_day <= :day ORDER BY trashed_day, trashed_ms LIMIT 1;

-- name: campaign_expired
SELECT number FROM campaigns WHERE trashed_ms IS NULL AND used_day <= :day ORDER BY used_day LIMIT 1;

-- name: version_next
INSERT INTO versions (id, last) VALUES (:id, 1)
ON CONFLICT (id) DO UPDATE SET last = last + 1, gone_day = NULL
RETURNING last;

-- name: version_forget
DELETE FROM versions WHERE id IN (SELECT id FROM versions WHERE gone_day <= :day ORDER BY gone_day LIMIT :max)
RETURNING 1;

-- name: checkpoint_newest
-- The newest and the one before it.
SELECT version, sha256, bytes, stored_ms, player, is_small, is_conflict, is_container, stamp, name, level, checkpoint,
       hostname
FROM checkpoints
WHERE campaign = :campaign AND is_conflict = 0 AND is_container >= :containers
ORDER BY version DESC
LIMIT 2;

-- name: checkpoint_find
SELECT version, sha256, bytes, stored_ms, player, is_small, is_conflict, is_container, stamp, name, level, checkpoint,
       hostname
FROM checkpoints
WHERE campaign = :campaign AND version = :version;

-- name: checkpoint_each
SELECT k.version, k.sha256, k.bytes, k.stored_ms, k.player, k.is_small, k.is_conflict, k.is_container, k.stamp, k.name,
       k.level, k.checkpoint, k.hostname
FROM campaigns c
JOIN checkpoints k ON k.campaign = c.number
WHERE c.id = :id AND c.trashed_ms IS NULL
ORDER BY k.version DESC;

-- name: checkpoint_thin
-- What deciding needs, of all of them.
SELECT version, sha256, stored_ms, player, is_small, is_conflict, spare
FROM checkpoints
WHERE campaign = :campaign
ORDER BY version DESC;

-- name: checkpoint_insert
INSERT INTO checkpoints (campaign, version, sha256, bytes, stored_ms, player, is_small, is_conflict, is_container, spare,
                         stamp, name, level, checkpoint, hostname)
VALUES (:campaign, :version, :sha256, :bytes, :stored_ms, :player, :is_small, :is_conflict, :is_container, 0,
        :stamp, :name, :level, :checkpoint, :hostname);

-- name: checkpoint_spare
UPDATE checkpoints SET spare = :spare WHERE campaign = :campaign AND version = :version;

-- name: checkpoint_remove
DELETE FROM checkpoints WHERE campaign = :campaign AND version = :version;

-- name: conflict_due
-- Those from a time that has not come yet were stored before the clock was set back.
SELECT c.number, k.version, k.sha256
FROM checkpoints k
JOIN campaigns c ON c.number = k.campaign
WHERE k.is_conflict = 1 AND (k.stored_ms <= :to_ms OR k.stored_ms > :ahead_ms) AND c.trashed_ms IS NULL
LIMIT 1;

-- name: member_each
SELECT m.player
FROM campaigns c
JOIN members m ON m.campaign = c.number
WHERE c.id = :id AND c.trashed_ms IS NULL AND m.state = 0
ORDER BY m.player;

-- name: member_count
SELECT coalesce(sum(state = 0), 0), count(*) FROM members WHERE campaign = :campaign;

-- name: member_find
SELECT state, used FROM members WHERE campaign = :campaign AND player = :player;

-- name: member_put
INSERT INTO members (campaign, player, state, used) VALUES (:campaign, :player, :state, 0)
ON CONFLICT (campaign, player) DO UPDATE SET state = excluded.state;

-- name: member_forget_one
-- One who is no member any more: first of those who left, and of those one whom a text puts back anyway.
DELETE FROM members
WHERE campaign = :campaign AND player = (SELECT player FROM members WHERE campaign = :campaign AND state <> 0
                                         ORDER BY state, used DESC, player LIMIT 1);

-- name: member_used
UPDATE members SET used = 1 WHERE campaign = :campaign AND player = :player AND used = 0;

-- name: campaigns_mark
UPDATE uptime_days SET campaigns_to = :campaigns_to WHERE day = :day;

-- name: campaigns_marked
-- Up to which day of use campaigns were marked, by the end of that day.
SELECT max(campaigns_to) FROM uptime_days WHERE day <= :day;
