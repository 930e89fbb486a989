-- New players of the last hours, so that the limit per address and hour outlives a restart.
CREATE TABLE new_players (
	addr  BLOB NOT NULL CHECK (length(addr) = 16), -- keyed hash of the client address
	at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX new_players_by_time ON new_players (at_ms);
