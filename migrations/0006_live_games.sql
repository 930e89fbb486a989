-- Games that are played right now, and who is in them: kept so that a restart in the middle loses nobody.
CREATE TABLE live_games (
	code        INTEGER PRIMARY KEY CHECK (code BETWEEN 100000 AND 999999 OR code BETWEEN 64101 AND 64164),
	version     INTEGER NOT NULL CHECK (version IN (1, 2)),        -- of the tunnel protocol
	player      BLOB CHECK (length(player) = 8),                   -- version 2: the host
	secret      BLOB CHECK (length(secret) = 32),                  -- version 1: SHA-256 of the game's secret
	addr        BLOB NOT NULL CHECK (length(addr) = 16),           -- keyed hash of the host's address
	next_number INTEGER NOT NULL CHECK (next_number BETWEEN 0 AND 65535), -- the next friend's
	made_ms     INTEGER NOT NULL,
	CHECK ((version = 2) = (player IS NOT NULL)),
	CHECK ((version = 1) = (secret IS NOT NULL)),
	CHECK ((version = 1) = (code < 100000))
) STRICT;

CREATE TABLE live_friends (
	code      INTEGER NOT NULL REFERENCES live_games (code) ON DELETE CASCADE,
	number    INTEGER NOT NULL CHECK (number BETWEEN 0 AND 65535), -- what the host knows the friend by
	token     BLOB NOT NULL CHECK (length(token) = 16),            -- first half of the SHA-256 of the friend's token
	player    BLOB CHECK (length(player) = 8),                     -- version 2 only
	addr      BLOB NOT NULL CHECK (length(addr) = 16),             -- keyed hash of the friend's address
	joined_ms INTEGER NOT NULL,
	PRIMARY KEY (code, number)
) STRICT, WITHOUT ROWID;
