-- Games that are played right now and who is in them.

-- name: game_replace
-- A code that is used by another game now: the old one goes, its friends with it.
DELETE FROM live_games WHERE code = :code AND (made_ms <> :made_ms OR version <> :version);

-- name: game_put
INSERT INTO live_games (code, version, player, secret, addr, next_number, made_ms)
VALUES (:code, :version, :player, :secret, :addr, :next_number, :made_ms)
ON CONFLICT (code) DO UPDATE
SET player = excluded.player, secret = excluded.secret, addr = excluded.addr, next_number = excluded.next_number;

-- name: game_remove
DELETE FROM live_games WHERE code = :code;

-- name: game_each
SELECT code, version, player, secret, addr, next_number, made_ms FROM live_games ORDER BY code;

-- name: friend_put
-- Adds nothing when the game is not there.
INSERT INTO live_friends (code, number, token, player, addr, joined_ms)
SELECT code, :number, :token, iif(version = 2, :player, NULL), :addr, :joined_ms FROM live_games WHERE code = :code
ON CONFLICT (code, number) DO UPDATE
SET token = excluded.token, player = excluded.player, addr = excluded.addr, joined_ms = excluded.joined_ms;

-- name: friend_remove
DELETE FROM live_friends WHERE code = :code AND number = :number;

-- name: friend_each
SELECT code, number, token, player, addr, joined_ms FROM live_friends ORDER BY code, joined_ms, number;
