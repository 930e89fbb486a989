-- Players, their codes, and the sweep that gives codes back.

-- name: player_insert
-- One who stored a checkpoint is there already, without a code.  Changes no row when the key is another one.  One who was
-- imported has no key yet: zeros stand behind his id.
INSERT INTO players (id, digest, made_ms) VALUES (:id, :digest, :now_ms)
ON CONFLICT (id) DO UPDATE SET digest = excluded.digest
WHERE digest = excluded.digest OR substr(digest, 9) = zeroblob(24);

-- name: player_adopt
-- The first key whose id an imported player has is his from then on.
UPDATE players SET digest = :digest WHERE id = :id AND digest <> :digest AND substr(digest, 9) = zeroblob(24);

-- name: player_remove
-- Stays while he owns a campaign, also one in the trash, or stored lately.
DELETE FROM players
WHERE id = :id
AND NOT EXISTS (SELECT 1 FROM holders WHERE player = :id)
AND NOT EXISTS (SELECT 1 FROM codes WHERE player = :id);

-- name: player_find
SELECT digest, made_ms FROM players WHERE id = :id;

-- name: code_insert
-- The day of uptime is the last one noted.
INSERT INTO codes (code, player, used_ms, used_day, joined)
VALUES (:code, :player, :used_ms, (SELECT coalesce(max(day), 0) FROM uptime_days), :joined);

-- name: code_touch
UPDATE codes
SET used_ms = :used_ms,
    used_day = (SELECT coalesce(max(day), 0) FROM uptime_days),
    joined = max(joined, :joined)
WHERE player = :player AND code = :code;

-- name: code_change
UPDATE codes
SET code = :code,
    used_ms = :used_ms,
    used_day = (SELECT coalesce(max(day), 0) FROM uptime_days),
    joined = 0
WHERE player = :player AND code = :from;

-- name: code_remove
DELETE FROM codes WHERE player = :player;

-- name: code_each
-- Both tables in the order of the id, so that a million rows are read without jumping about.
SELECT p.digest, c.code, c.used_ms, c.joined
FROM players p CROSS JOIN codes c ON c.player = p.id
ORDER BY p.id;

-- name: code_count
SELECT count(*) FROM codes;

-- name: code_use_live
-- A game that is played uses its host's code, however long ago he opened it.
UPDATE codes SET used_ms = :used_ms, used_day = :used_day
WHERE used_day < :used_day AND code IN (SELECT code FROM live_games);

-- name: code_expired
SELECT p.digest FROM codes c JOIN players p ON p.id = c.player
WHERE c.used_day <= :used_day
ORDER BY c.used_day
LIMIT :max;

-- name: code_spare
-- Codes that never served anybody but their owner.
SELECT p.digest FROM codes c JOIN players p ON p.id = c.player
WHERE c.joined = 0 AND c.used_day <= :used_day AND c.used_ms <= :used_ms
ORDER BY c.used_day, c.used_ms
LIMIT :max;

-- name: new_player_add
INSERT INTO new_players (addr, at_ms) VALUES (:addr, :at_ms);

-- name: new_player_each
SELECT addr, at_ms FROM new_players WHERE at_ms >= :since_ms ORDER BY at_ms;

-- name: new_player_prune
-- Times from before the clock was set back stand in the future: they go too.
DELETE FROM new_players WHERE at_ms < :from_ms OR at_ms > :to_ms;
