-- What all migrations together make of an empty database, in the order of the names. The test migrate prints the
-- new text when it differs: look at the difference, then put it here.

CREATE TABLE codes (
	player   BLOB PRIMARY KEY REFERENCES players (id),
	code     INTEGER NOT NULL UNIQUE CHECK (code BETWEEN 100000 AND 999999),
	used_ms  INTEGER NOT NULL,                         -- last use
	used_day INTEGER NOT NULL CHECK (used_day >= 0),   -- the same as a day of uptime_days; 0: before the first
	joined   INTEGER NOT NULL CHECK (joined IN (0, 1)) -- a friend ever joined a game under it
) STRICT, WITHOUT ROWID;

CREATE INDEX codes_by_use ON codes (used_day);

CREATE INDEX codes_to_spare ON codes (used_day, used_ms) WHERE joined = 0;

CREATE VIEW games AS
SELECT code,
       version,
       lower(hex(player)) AS host, -- empty for version 1, whose hosts have no id
       (SELECT count(*) FROM live_friends f WHERE f.code = g.code) AS friends,
       datetime(made_ms / 1000, 'unixepoch') AS made
FROM live_games g
ORDER BY made_ms;

CREATE TABLE live_friends (
	code      INTEGER NOT NULL REFERENCES live_games (code) ON DELETE CASCADE,
	number    INTEGER NOT NULL CHECK (number BETWEEN 0 AND 65535), -- what the host knows the friend by
	token     BLOB NOT NULL CHECK (length(token) = 16),            -- first half of the SHA-256 of the friend's token
	player    BLOB CHECK (length(player) = 8),                     -- version 2 only
	addr      BLOB NOT NULL CHECK (length(addr) = 16),             -- keyed hash of the friend's address
	joined_ms INTEGER NOT NULL,
	PRIMARY KEY (code, number)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE new_players (
	addr  BLOB NOT NULL CHECK (length(addr) = 16), -- keyed hash of the client address
	at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX new_players_by_time ON new_players (at_ms);

CREATE VIEW player_list AS
SELECT lower(hex(p.id)) AS player,
       c.code,
       datetime(c.used_ms / 1000, 'unixepoch') AS used,
       iif(c.joined, 'yes', 'no') AS joined, -- whether friends ever came
       iif(c.used_day <= (SELECT max(marked_to) FROM uptime_days), 'yes', 'no') AS marked -- goes in some days
FROM players p
LEFT JOIN codes c ON c.player = p.id;

CREATE TABLE players (
	id      BLOB PRIMARY KEY CHECK (length(id) = 8),                              -- the public id
	digest  BLOB NOT NULL CHECK (length(digest) = 32 AND substr(digest, 1, 8) = id), -- SHA-256 of the player key
	made_ms INTEGER NOT NULL                                                      -- first seen
) STRICT, WITHOUT ROWID;

CREATE TABLE store_facts (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	store_id BLOB NOT NULL CHECK (length(store_id) = 16), -- random; the blob folder has the same in its file store-id
	made_ms  INTEGER NOT NULL                             -- Unix time, in milliseconds like every *_ms
) STRICT;

CREATE TABLE uptime_days (
	day       INTEGER PRIMARY KEY CHECK (day > 0), -- counted from 1; days on which the server did not run have no number
	first_ms  INTEGER NOT NULL,                    -- when the day was noted
	last_ms   INTEGER NOT NULL,                    -- the last time known on that day: what a changed clock is noticed by
	marked_to INTEGER CHECK (marked_to < day)      -- codes last used on this day or before are marked for removal
) STRICT;
