-- Tokens of operators.  The token itself never stands here, only its digest.
CREATE TABLE admin_tokens (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	digest     BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of the token's 32 bytes
	name       TEXT NOT NULL,
	role       INTEGER NOT NULL CHECK (role IN (1, 2)),          -- 1: viewer, 2: operator
	made_ms    INTEGER NOT NULL,
	made_by    TEXT NOT NULL,
	expires_ms INTEGER,                                          -- NULL: never
	used_ms    INTEGER,                                          -- last use, to the minute; NULL: never
	revoked_ms INTEGER                                           -- NULL: it was not
) STRICT;

CREATE VIEW token_list AS
SELECT id,
       name,
       iif(role = 2, 'operator', 'viewer') AS role,
       made_by,
       datetime(made_ms / 1000, 'unixepoch') AS made,
       datetime(expires_ms / 1000, 'unixepoch') AS expires, -- empty: never
       datetime(used_ms / 1000, 'unixepoch') AS used,
       datetime(revoked_ms / 1000, 'unixepoch') AS revoked
FROM admin_tokens
ORDER BY id;
