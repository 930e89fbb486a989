-- Tokens of operators.

-- name: token_add
INSERT INTO admin_tokens (digest, name, role, made_ms, made_by, expires_ms)
VALUES (:digest, :name, :role, :made_ms, :made_by, nullif(:expires_ms, 0))
RETURNING id;

-- name: token_revoke
-- One that was revoked before keeps that time.
UPDATE admin_tokens SET revoked_ms = coalesce(revoked_ms, :now_ms) WHERE id = :id;

-- name: token_used
UPDATE admin_tokens SET used_ms = max(coalesce(used_ms, 0), :used_ms) WHERE id = :id;

-- name: token_thin
-- Those that have been good for nothing since then.
DELETE FROM admin_tokens WHERE revoked_ms < :before_ms OR expires_ms < :before_ms;

-- name: token_page
-- In the order in which they were made.  after: the id behind which it goes on; 0: from the first.
SELECT id, digest, name, role, made_ms, made_by, expires_ms, used_ms, revoked_ms
FROM admin_tokens
WHERE id > :after
ORDER BY id
LIMIT :rows;
