-- Open lobbies, and who announced one lately.

-- name: lobby_put
INSERT INTO lobbies (id, session, token, identity, addr, addr_wide, direct_addr, name, world, version, game, proto, players,
                     players_max, locked, listed, proved, relayed, direct, lan, claim_sha, claim_key, claim_sig, made_ms,
                     beat_ms)
VALUES (:id, :session, :token, :identity, :addr, :addr_wide, :direct_addr, :name, :world, :version, :game, :proto, :players,
        :players_max, :locked, :listed, :proved, :relayed, :direct, :lan, :claim_sha, :claim_key, :claim_sig, :made_ms,
        :beat_ms);

-- name: lobby_update
-- What changes while it lives.
UPDATE lobbies
SET players = :players, listed = :listed, relayed = :relayed, direct = :direct, lan = :lan, beat_ms = :beat_ms
WHERE id = :id;

-- name: lobby_delete
DELETE FROM lobbies WHERE id = :id;

-- name: lobby_delete_silent
DELETE FROM lobbies WHERE beat_ms < :before_ms;

-- name: lobby_each
-- In the order in which they are swept.
SELECT id, session, token, identity, addr, addr_wide, direct_addr, name, world, version, game, proto, players, players_max,
       locked, listed, proved, relayed, direct, lan, claim_sha, claim_key, claim_sig, made_ms, beat_ms
FROM lobbies
ORDER BY beat_ms;

-- name: lobby_create_add
INSERT INTO lobby_creates (addr, addr_wide, at_ms) VALUES (:addr, :addr_wide, :at_ms);

-- name: lobby_create_forget
DELETE FROM lobby_creates WHERE at_ms < :before_ms;

-- name: lobby_create_each
SELECT addr, addr_wide, at_ms FROM lobby_creates ORDER BY at_ms;
