-- Open lobbies, kept so that a restart loses none.  What a host has to show for one is its session id, which joiners are
-- told too, and its token, of which only the digest is here.
CREATE TABLE lobbies (
	id          BLOB PRIMARY KEY CHECK (length(id) = 8),           -- as the list has it
	session     BLOB NOT NULL UNIQUE CHECK (length(session) = 16), -- what host and joiners have
	token       BLOB NOT NULL CHECK (length(token) = 32),          -- SHA-256 of what the host alone has
	identity    BLOB NOT NULL CHECK (length(identity) = 32),       -- the host's public key
	addr        BLOB NOT NULL CHECK (length(addr) = 16),           -- keyed hash of the host's address
	addr_wide   BLOB CHECK (length(addr_wide) = 16),               -- the same of its /48; only IPv6 has one
	direct_addr TEXT NOT NULL CHECK (length(direct_addr) <= 63),   -- address and port that joiners are told; '': brokered
	name        TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
	world       TEXT NOT NULL CHECK (length(world) <= 39),
	version     TEXT NOT NULL CHECK (length(version) <= 23),
	game        TEXT NOT NULL CHECK (length(game) <= 23),          -- version of the game
	proto       INTEGER NOT NULL CHECK (proto BETWEEN 0 AND 65535), -- build of the mod; 0: not said
	players     INTEGER NOT NULL CHECK (players BETWEEN 0 AND players_max),
	players_max INTEGER NOT NULL CHECK (players_max BETWEEN 1 AND 4),
	locked      INTEGER NOT NULL CHECK (locked IN (0, 1)),
	listed      INTEGER NOT NULL CHECK (listed IN (0, 1)),
	proved      INTEGER NOT NULL CHECK (proved IN (0, 1)),         -- the host showed that it holds its key
	relayed     INTEGER NOT NULL CHECK (relayed BETWEEN 0 AND players_max), -- players, by how they are linked
	direct      INTEGER NOT NULL CHECK (direct BETWEEN 0 AND players_max),
	lan         INTEGER NOT NULL CHECK (lan BETWEEN 0 AND players_max),
	claim_sha   TEXT NOT NULL CHECK (length(claim_sha) IN (0, 64)), -- of its build, as the host says it; nobody checked
	claim_key   INTEGER NOT NULL CHECK (claim_key BETWEEN 0 AND 255),
	claim_sig   TEXT NOT NULL CHECK (length(claim_sig) IN (0, 128)),
	made_ms     INTEGER NOT NULL,
	beat_ms     INTEGER NOT NULL                                   -- the host's last sign of life
) STRICT;

-- Who announced a lobby within the last minute: the limit per address goes on after a restart.
CREATE TABLE lobby_creates (
	number    INTEGER PRIMARY KEY,
	addr      BLOB NOT NULL CHECK (length(addr) = 16), -- keyed hash of the address
	addr_wide BLOB CHECK (length(addr_wide) = 16),     -- the same of its /48; only IPv6 has one
	at_ms     INTEGER NOT NULL
) STRICT;

CREATE INDEX lobby_creates_by_time ON lobby_creates (at_ms);
