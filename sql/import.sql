-- Players and campaigns of an older server come in.

-- name: import_player
-- His key is not known: zeros stand behind the id.
INSERT INTO players (id, digest, made_ms) VALUES (:id, :digest, :made_ms) ON CONFLICT (id) DO NOTHING;

-- name: import_code_of
SELECT code FROM codes WHERE player = :id;

-- name: import_was_here
-- The id had a campaign here, which is gone or in the trash.
SELECT 1 FROM versions WHERE id = :id;

-- name: import_times
UPDATE campaigns SET made_ms = :made_ms, stored_ms = :stored_ms, used_ms = :stored_ms WHERE number = :campaign;
