-- A restored database, before it takes its place.

-- name: restore_friends_clear
-- What lived when the backup was made lives no longer.
DELETE FROM live_friends;

-- name: restore_games_clear
DELETE FROM live_games;

-- name: restore_lobbies_clear
DELETE FROM lobbies;

-- name: restore_blobs
-- All that must be there, with its size.
SELECT sha256, max(bytes) FROM checkpoints GROUP BY sha256 ORDER BY sha256;

-- name: restore_blob_totals
SELECT count(*), coalesce(sum(bytes), 0) FROM (SELECT max(bytes) AS bytes FROM checkpoints GROUP BY sha256);

-- name: restore_known
-- What the database says of one blob.
SELECT c.id, c.name, c.owner, k.version, c.trashed_ms IS NOT NULL
FROM checkpoints k JOIN campaigns c ON c.number = k.campaign
WHERE k.sha256 = :hash
ORDER BY c.id, k.version DESC;

-- name: restore_totals
SELECT (SELECT count(*) FROM players), (SELECT count(*) FROM codes), (SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL),
       (SELECT count(*) FROM checkpoints), (SELECT count(*) FROM scores);
