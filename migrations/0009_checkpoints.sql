-- Checkpoints of campaigns.  The bytes are a file below blobs/, named by its hash; several rows may name the same one.
CREATE TABLE checkpoints (
	campaign     INTEGER NOT NULL REFERENCES campaigns (number),
	version      INTEGER NOT NULL CHECK (version > 0),
	sha256       BLOB NOT NULL CHECK (length(sha256) = 32),
	bytes        INTEGER NOT NULL CHECK (bytes >= 0),
	stored_ms    INTEGER NOT NULL,
	player       BLOB NOT NULL CHECK (length(player) = 8),     -- who stored it
	is_small     INTEGER NOT NULL CHECK (is_small IN (0, 1)),  -- much smaller than the one before
	is_conflict  INTEGER NOT NULL CHECK (is_conflict IN (0, 1)), -- kept beside the newest for a while; never the newest
	is_container INTEGER NOT NULL CHECK (is_container IN (0, 1)), -- only such are shown over WebSocket
	spare        INTEGER NOT NULL CHECK (spare IN (0, 1, 2)),  -- may go when room is short: 1 before 2; 0: stays
	stamp        INTEGER NOT NULL,                             -- Unix time in seconds, of the player's machine; 0: unknown
	name         TEXT NOT NULL,
	level        TEXT NOT NULL,
	checkpoint   TEXT NOT NULL,
	hostname     TEXT NOT NULL,
	PRIMARY KEY (campaign, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX checkpoints_by_blob ON checkpoints (sha256);
CREATE INDEX checkpoints_in_conflict ON checkpoints (stored_ms) WHERE is_conflict = 1;
