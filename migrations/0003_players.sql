-- Players.  The key that proves who somebody is never stands here, only its digest.
CREATE TABLE players (
	id      BLOB PRIMARY KEY CHECK (length(id) = 8),                              -- the public id
	digest  BLOB NOT NULL CHECK (length(digest) = 32 AND substr(digest, 1, 8) = id), -- SHA-256 of the player key
	made_ms INTEGER NOT NULL                                                      -- first seen
) STRICT, WITHOUT ROWID;
