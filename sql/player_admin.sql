-- Players as operators see them.

-- name: player_each_admin
-- By id, between two. Seen: whenever the player opened a game, or a campaign of his was used.
SELECT p.id, p.made_ms, c.code,
       max(p.made_ms, coalesce(c.used_ms, 0), coalesce((SELECT max(k.used_ms) FROM campaigns k WHERE k.owner = p.id), 0)),
       coalesce(h.campaigns, 0), coalesce(h.bytes, 0),
       EXISTS (SELECT 1 FROM live_games g WHERE g.code = c.code AND g.player = p.id)
FROM players p
LEFT JOIN codes c ON c.player = p.id
LEFT JOIN holders h ON h.player = p.id
WHERE p.id BETWEEN :first AND :last
ORDER BY p.id
LIMIT :max;

-- name: player_of_code
SELECT player FROM codes WHERE code = :code;

-- name: player_campaigns
-- His own, then those of others; in each part the one stored last comes first.
SELECT c.number, c.id, c.bytes, c.stored_ms, 1 AS owns
FROM campaigns c
WHERE c.owner = :player AND c.trashed_ms IS NULL
UNION ALL
SELECT c.number, c.id, c.bytes, c.stored_ms, 0
FROM members m JOIN campaigns c ON c.number = m.campaign
WHERE m.player = :player AND m.state = 0 AND c.trashed_ms IS NULL AND c.owner <> :player
ORDER BY owns DESC, stored_ms DESC
LIMIT :max;

-- name: player_largest
-- Of the checkpoints of his campaigns.
SELECT coalesce(max(k.bytes), 0)
FROM campaigns c JOIN checkpoints k ON k.campaign = c.number
WHERE c.owner = :player AND c.trashed_ms IS NULL;

-- name: player_ban_find
SELECT 1 FROM bans WHERE kind = 1 AND value = lower(hex(:player)) AND (until_ms IS NULL OR until_ms > :now_ms);
