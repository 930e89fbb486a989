-- The code under which a player's friends find his games.  In the order of the players, so that both tables are read
-- side by side at the start.
CREATE TABLE codes (
	player   BLOB PRIMARY KEY REFERENCES players (id),
	code     INTEGER NOT NULL UNIQUE CHECK (code BETWEEN 100000 AND 999999),
	used_ms  INTEGER NOT NULL,                         -- last use
	used_day INTEGER NOT NULL CHECK (used_day >= 0),   -- the same as a day of uptime_days; 0: before the first
	joined   INTEGER NOT NULL CHECK (joined IN (0, 1)) -- a friend ever joined a game under it
) STRICT, WITHOUT ROWID;

-- Who goes first, when codes expire and when they become scarce.
CREATE INDEX codes_by_use ON codes (used_day);
CREATE INDEX codes_to_spare ON codes (used_day, used_ms) WHERE joined = 0;
