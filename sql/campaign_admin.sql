-- Campaigns as operators see and change them: by their numbers, those in the trash as well.

-- name: search_walk
-- Newest stored first, from behind a place on. trash: 0 without it, 1 only it, 2 both. Names are compared by the caller.
SELECT c.number, c.stored_ms, c.id, c.name, c.level
FROM campaigns c
WHERE (c.stored_ms, c.number) < (:stored_ms, :number)
AND c.stored_ms BETWEEN :from_ms AND :to_ms
AND (:trash = 2 OR (c.trashed_ms IS NOT NULL) = :trash)
AND (:owner IS NULL OR c.owner = :owner)
AND c.bytes BETWEEN :min_bytes AND :max_bytes
AND (:member IS NULL OR EXISTS (SELECT 1 FROM members m
                                WHERE m.campaign = c.number AND m.player = :member AND m.state = 0))
ORDER BY c.stored_ms DESC, c.number DESC;

-- name: search_row
SELECT c.id, c.owner, c.bytes, c.made_ms, c.stored_ms, c.used_ms, c.trashed_ms,
       (SELECT count(*) FROM members m WHERE m.campaign = c.number AND m.state = 0),
       (SELECT count(*) FROM checkpoints k WHERE k.campaign = c.number),
       (SELECT coalesce(max(k.bytes), 0) FROM checkpoints k WHERE k.campaign = c.number)
FROM campaigns c
WHERE c.number = :campaign;

-- name: search_find
-- The one that is not in the trash, else the one that came there last; or the one of this number.
SELECT number FROM campaigns
WHERE id = :id AND (:number = 0 OR number = :number)
ORDER BY trashed_ms IS NOT NULL, trashed_ms DESC, number DESC
LIMIT 1;

-- name: search_members
SELECT player, state, used FROM members WHERE campaign = :campaign ORDER BY state, player;

-- name: search_checkpoints
SELECT version, sha256, bytes, stored_ms, player, is_small, is_conflict, is_container, stamp, name, level, checkpoint,
       hostname
FROM checkpoints
WHERE campaign = :campaign
ORDER BY version DESC;

-- name: trash_find
-- The one that came there last, or the one of this number.
SELECT number FROM campaigns
WHERE id = :id AND trashed_ms IS NOT NULL AND (:number = 0 OR number = :number)
ORDER BY trashed_ms DESC, number DESC
LIMIT 1;

-- name: trash_count
SELECT count(*) FROM campaigns WHERE id = :id AND trashed_ms IS NOT NULL;

-- name: campaign_untrash
-- It counts as used: the days in the trash are not held against it.
UPDATE campaigns
SET trashed_ms = NULL, trashed_day = NULL,
    used_ms = :now_ms, used_day = (SELECT coalesce(max(day), 0) FROM uptime_days)
WHERE number = :campaign;

-- name: campaign_give
UPDATE campaigns SET owner = :owner WHERE number = :campaign;

-- name: member_remove
DELETE FROM members WHERE campaign = :campaign AND player = :player;

-- name: version_last
SELECT last FROM versions WHERE id = :id;

-- name: player_quota_each
SELECT player, campaigns, bytes, checkpoint FROM player_quotas
WHERE :after IS NULL OR player > :after
ORDER BY player LIMIT :max;

-- name: campaign_quota_each
SELECT campaign, bytes, checkpoint FROM campaign_quotas
WHERE :after IS NULL OR campaign > :after
ORDER BY campaign LIMIT :max;

-- name: quota_override_count
SELECT (SELECT count(*) FROM player_quotas) + (SELECT count(*) FROM campaign_quotas);

-- name: blob_sums
SELECT (SELECT count(*) FROM blobs), (SELECT coalesce(sum(bytes), 0) FROM blobs), (SELECT count(*) FROM blob_garbage);
