-- What everybody uses and may use, who goes first when room is short.

-- name: totals
SELECT campaigns, bytes, spare, trash FROM cloud_totals;

-- name: holder_find
SELECT h.campaigns, h.bytes, h.spare, h.addr, p.made_ms
FROM holders h
JOIN players p ON p.id = h.player
WHERE h.player = :player;

-- name: holder_add
INSERT INTO holders (player, made_ms, addr) VALUES (:player, :now_ms, :addr)
ON CONFLICT (player) DO NOTHING;

-- name: holder_young
-- What the young players of one address hold together.
SELECT coalesce(sum(h.bytes), 0)
FROM holders h
JOIN players p ON p.id = h.player
WHERE h.addr = :addr AND p.made_ms > :from_ms;

-- name: holder_grown
-- The address of a player who is young no more is nobody's business.
UPDATE holders SET addr = NULL
WHERE player IN (SELECT player FROM holders WHERE addr IS NOT NULL AND made_ms <= :to_ms ORDER BY made_ms LIMIT :max);

-- name: holder_idle
-- Who has nothing here, not even in the trash.
SELECT h.player FROM holders h
WHERE h.campaigns = 0 AND h.made_ms <= :to_ms AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.owner = h.player)
ORDER BY h.made_ms
LIMIT :max;

-- name: holder_remove
DELETE FROM holders WHERE player = :player;

-- name: new_player_count
-- Of the address, and in all.
SELECT (SELECT count(*) FROM new_players WHERE addr = :addr AND at_ms >= :since_ms),
       (SELECT count(*) FROM new_players WHERE at_ms >= :since_ms);

-- name: player_quota_find
SELECT campaigns, bytes, checkpoint FROM player_quotas WHERE player = :player;

-- name: player_quota_put
INSERT INTO player_quotas (player, campaigns, bytes, checkpoint) VALUES (:player, nullif(:campaigns, -1),
                                                                         nullif(:bytes, -1), nullif(:checkpoint, -1))
ON CONFLICT (player) DO UPDATE
SET campaigns = excluded.campaigns, bytes = excluded.bytes, checkpoint = excluded.checkpoint;

-- name: player_quota_remove
DELETE FROM player_quotas WHERE player = :player;

-- name: campaign_quota_find
SELECT bytes, checkpoint FROM campaign_quotas WHERE campaign = :id;

-- name: campaign_quota_put
INSERT INTO campaign_quotas (campaign, bytes, checkpoint) VALUES (:id, nullif(:bytes, -1), nullif(:checkpoint, -1))
ON CONFLICT (campaign) DO UPDATE SET bytes = excluded.bytes, checkpoint = excluded.checkpoint;

-- name: campaign_quota_remove
DELETE FROM campaign_quotas WHERE campaign = :id;

-- name: shed_holder
SELECT player FROM holders WHERE spare > 0 ORDER BY bytes DESC LIMIT 1;

-- name: shed_of_owner
-- The most easily spared; of those, the one of the campaign that can spare most.
SELECT k.campaign, k.version, k.bytes, k.sha256
FROM campaigns c
JOIN checkpoints k ON k.campaign = c.number
WHERE c.owner = :owner AND c.trashed_ms IS NULL AND c.spare > 0 AND k.spare > 0
ORDER BY k.spare, c.spare DESC, k.version
LIMIT 1;

-- name: shed_of_campaign
SELECT campaign, version, bytes, sha256
FROM checkpoints
WHERE campaign = :campaign AND spare > 0
ORDER BY spare, version
LIMIT 1;
