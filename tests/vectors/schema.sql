-- What all migrations together make of an empty database, in the order of the names. The test migrate prints the
-- new text when it differs: look at the difference, then put it here.

CREATE VIEW access AS
SELECT lower(hex(id)) AS campaign, lower(hex(owner)) AS player, 'owner' AS role
FROM campaigns
WHERE trashed_ms IS NULL
UNION ALL
SELECT lower(hex(c.id)), lower(hex(m.player)), 'member'
FROM campaigns c
JOIN members m ON m.campaign = c.number
WHERE c.trashed_ms IS NULL AND m.state = 0;

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

CREATE TABLE audit (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	at_ms    INTEGER NOT NULL,
	who      TEXT NOT NULL,  -- "root", "uid 1000", "token 3 (name)"
	via      TEXT NOT NULL CHECK (via IN ('unix', 'tcp')),
	address  TEXT NOT NULL,  -- in clear
	action   TEXT NOT NULL,  -- "campaign.revoke"
	target   TEXT NOT NULL,  -- "campaigns/00112233445566aa"
	detail   TEXT NOT NULL,  -- what was asked for, as JSON; no secrets
	result   TEXT NOT NULL,  -- "begun", "ok", or the error's code
	ended_ms INTEGER         -- NULL: it has not, or the server ended before
) STRICT;

CREATE INDEX audit_by_time ON audit (at_ms);

CREATE INDEX audit_refused ON audit (id) WHERE result NOT IN ('ok', 'begun');

CREATE VIEW audit_trail AS
SELECT id,
       datetime(at_ms / 1000, 'unixepoch') AS at,
       who,
       via,
       address,
       action,
       target,
       detail,
       result
FROM audit
ORDER BY id DESC;

CREATE VIEW ban_list AS
SELECT id,
       CASE kind WHEN 0 THEN 'address' WHEN 1 THEN 'player' WHEN 2 THEN 'identity' ELSE 'name' END AS kind,
       value,
       reason,
       made_by,
       datetime(made_ms / 1000, 'unixepoch') AS made,
       datetime(until_ms / 1000, 'unixepoch') AS until -- empty: for ever
FROM bans
ORDER BY id;

CREATE TABLE bans (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	kind     INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3), -- 0: address or network, 1: player, 2: identity, 3: name
	value    TEXT NOT NULL,    -- as people read it, in one form only, so that it is there once
	reason   TEXT NOT NULL,
	made_ms  INTEGER NOT NULL,
	made_by  TEXT NOT NULL,    -- as in the audit trail
	until_ms INTEGER,          -- NULL: for ever
	UNIQUE (kind, value)
) STRICT;

CREATE INDEX bans_by_end ON bans (until_ms) WHERE until_ms IS NOT NULL;

CREATE TABLE blob_garbage (
	hash   BLOB PRIMARY KEY CHECK (length(hash) = 32),
	is_old INTEGER NOT NULL CHECK (is_old IN (0, 1)) -- noted before this start: the file goes to blobs/.trash instead
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
	hash  BLOB PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256 of the bytes, and the file's name in hex
	bytes INTEGER NOT NULL CHECK (bytes >= 0)         -- size of the file
) STRICT, WITHOUT ROWID;

CREATE TABLE boards (
	id              INTEGER PRIMARY KEY,
	title           BLOB NOT NULL CHECK (length(title) BETWEEN 1 AND 12),     -- of the game
	number          INTEGER NOT NULL CHECK (number BETWEEN 0 AND 4294967295), -- the game's, for this board
	lower_is_better INTEGER NOT NULL CHECK (lower_is_better IN (0, 1)),       -- as the first score said
	title_text      TEXT NOT NULL CHECK (length(title_text) <= 12),           -- for people
	UNIQUE (title, number)
) STRICT;

CREATE TRIGGER campaign_added AFTER INSERT ON campaigns BEGIN
	UPDATE holders SET campaigns = campaigns + 1 WHERE player = NEW.owner;
	UPDATE cloud_totals SET campaigns = campaigns + 1;
END;

CREATE TRIGGER campaign_changed AFTER UPDATE OF bytes, spare, trashed_ms ON campaigns BEGIN
	UPDATE holders
	SET campaigns = campaigns + (NEW.trashed_ms IS NULL) - (OLD.trashed_ms IS NULL),
	    bytes = bytes + iif(NEW.trashed_ms IS NULL, NEW.bytes, 0) - iif(OLD.trashed_ms IS NULL, OLD.bytes, 0),
	    spare = spare + iif(NEW.trashed_ms IS NULL, NEW.spare, 0) - iif(OLD.trashed_ms IS NULL, OLD.spare, 0)
	WHERE player = NEW.owner;
	UPDATE cloud_totals
	SET campaigns = campaigns + (NEW.trashed_ms IS NULL) - (OLD.trashed_ms IS NULL),
	    bytes = bytes + iif(NEW.trashed_ms IS NULL, NEW.bytes, 0) - iif(OLD.trashed_ms IS NULL, OLD.bytes, 0),
	    spare = spare + iif(NEW.trashed_ms IS NULL, NEW.spare, 0) - iif(OLD.trashed_ms IS NULL, OLD.spare, 0),
	    trash = trash + iif(NEW.trashed_ms IS NULL, 0, NEW.bytes) - iif(OLD.trashed_ms IS NULL, 0, OLD.bytes);
END;

CREATE TRIGGER campaign_given AFTER UPDATE OF owner ON campaigns WHEN NEW.owner <> OLD.owner BEGIN
	UPDATE holders
	SET campaigns = campaigns - (OLD.trashed_ms IS NULL),
	    bytes = bytes - iif(OLD.trashed_ms IS NULL, OLD.bytes, 0),
	    spare = spare - iif(OLD.trashed_ms IS NULL, OLD.spare, 0)
	WHERE player = OLD.owner;
	UPDATE holders
	SET campaigns = campaigns + (NEW.trashed_ms IS NULL),
	    bytes = bytes + iif(NEW.trashed_ms IS NULL, NEW.bytes, 0),
	    spare = spare + iif(NEW.trashed_ms IS NULL, NEW.spare, 0)
	WHERE player = NEW.owner;
END;

CREATE VIEW campaign_list AS
SELECT lower(hex(c.id)) AS campaign,
       lower(hex(c.owner)) AS owner,
       k.name,
       k.level,
       k.version, -- of the newest checkpoint
       (SELECT count(*) FROM checkpoints o WHERE o.campaign = c.number) AS checkpoints,
       c.bytes,   -- of all of them
       datetime(c.stored_ms / 1000, 'unixepoch') AS stored,
       datetime(c.used_ms / 1000, 'unixepoch') AS used,
       iif(c.used_day <= (SELECT max(campaigns_to) FROM uptime_days), 'yes', 'no') AS marked -- goes in some days
FROM campaigns c
LEFT JOIN checkpoints k
       ON k.campaign = c.number
      AND k.version = (SELECT max(n.version) FROM checkpoints n WHERE n.campaign = c.number AND n.is_conflict = 0)
WHERE c.trashed_ms IS NULL;

CREATE TABLE campaign_quotas (
	campaign   BLOB PRIMARY KEY CHECK (length(campaign) = 8), -- its id
	bytes      INTEGER CHECK (bytes >= 0),
	checkpoint INTEGER CHECK (checkpoint >= 0)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER campaign_removed AFTER DELETE ON campaigns BEGIN
	UPDATE holders SET campaigns = campaigns - (OLD.trashed_ms IS NULL) WHERE player = OLD.owner;
	UPDATE cloud_totals SET campaigns = campaigns - (OLD.trashed_ms IS NULL);
END;

CREATE VIEW campaign_trash AS
SELECT lower(hex(id)) AS campaign,
       number,
       lower(hex(owner)) AS owner,
       name,
       level,
       bytes,
       datetime(stored_ms / 1000, 'unixepoch') AS stored,
       datetime(trashed_ms / 1000, 'unixepoch') AS deleted
FROM campaigns
WHERE trashed_ms IS NOT NULL;

CREATE TABLE campaigns (
	number      INTEGER PRIMARY KEY AUTOINCREMENT,     -- tells a campaign from a later one of the same id
	id          BLOB NOT NULL CHECK (length(id) = 8),  -- chosen by the game of whoever stored first
	owner       BLOB NOT NULL REFERENCES players (id), -- whoever stored first
	made_ms     INTEGER NOT NULL,
	stored_ms   INTEGER NOT NULL,                      -- last time something was stored
	used_ms     INTEGER NOT NULL,                      -- last time something was stored or loaded
	used_day    INTEGER NOT NULL CHECK (used_day >= 0), -- the same as a day of uptime_days; 0: before the first
	bytes       INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),                 -- of all its checkpoints
	spare       INTEGER NOT NULL DEFAULT 0 CHECK (spare BETWEEN 0 AND bytes),  -- of those that may go when room is short
	trashed_ms  INTEGER,                               -- when it was deleted; NULL: it was not
	trashed_day INTEGER, name TEXT NOT NULL DEFAULT '', level TEXT NOT NULL DEFAULT '',                               -- the same as a day of uptime_days
	CHECK ((trashed_ms IS NULL) = (trashed_day IS NULL))
) STRICT;

CREATE INDEX campaigns_by_id ON campaigns (id);

CREATE INDEX campaigns_by_owner ON campaigns (owner, trashed_ms);

CREATE INDEX campaigns_by_stored ON campaigns (stored_ms, number);

CREATE INDEX campaigns_by_use ON campaigns (used_day) WHERE trashed_ms IS NULL;

CREATE INDEX campaigns_in_trash ON campaigns (trashed_day, trashed_ms) WHERE trashed_ms IS NOT NULL;

CREATE UNIQUE INDEX campaigns_live ON campaigns (id) WHERE trashed_ms IS NULL;

CREATE TRIGGER checkpoint_added AFTER INSERT ON checkpoints BEGIN
	UPDATE campaigns
	SET bytes = bytes + NEW.bytes, spare = spare + iif(NEW.spare > 0, NEW.bytes, 0)
	WHERE number = NEW.campaign;
END;

CREATE TRIGGER checkpoint_named AFTER INSERT ON checkpoints WHEN NEW.is_conflict = 0 BEGIN
	UPDATE campaigns SET name = NEW.name, level = NEW.level WHERE number = NEW.campaign;
END;

CREATE TRIGGER checkpoint_removed AFTER DELETE ON checkpoints BEGIN
	UPDATE campaigns
	SET bytes = bytes - OLD.bytes, spare = spare - iif(OLD.spare > 0, OLD.bytes, 0)
	WHERE number = OLD.campaign;
END;

CREATE TRIGGER checkpoint_spared AFTER UPDATE OF spare ON checkpoints BEGIN
	UPDATE campaigns
	SET spare = spare + iif(NEW.spare > 0, NEW.bytes, 0) - iif(OLD.spare > 0, OLD.bytes, 0)
	WHERE number = NEW.campaign;
END;

CREATE TRIGGER checkpoint_unnamed AFTER DELETE ON checkpoints WHEN OLD.is_conflict = 0 BEGIN
	UPDATE campaigns
	SET name = coalesce((SELECT n.name FROM checkpoints n WHERE n.campaign = OLD.campaign AND n.is_conflict = 0
	                     ORDER BY n.version DESC LIMIT 1), ''),
	    level = coalesce((SELECT n.level FROM checkpoints n WHERE n.campaign = OLD.campaign AND n.is_conflict = 0
	                      ORDER BY n.version DESC LIMIT 1), '')
	WHERE number = OLD.campaign;
END;

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

CREATE TABLE cloud_totals (
	one       INTEGER PRIMARY KEY CHECK (one = 1),
	campaigns INTEGER NOT NULL CHECK (campaigns >= 0),
	bytes     INTEGER NOT NULL CHECK (bytes >= 0),
	spare     INTEGER NOT NULL CHECK (spare BETWEEN 0 AND bytes),
	trash     INTEGER NOT NULL CHECK (trash >= 0)        -- bytes in the trash, which are not in bytes
) STRICT;

CREATE TABLE codes (
	player   BLOB PRIMARY KEY REFERENCES players (id),
	code     INTEGER NOT NULL UNIQUE CHECK (code BETWEEN 100000 AND 999999),
	used_ms  INTEGER NOT NULL,                         -- last use
	used_day INTEGER NOT NULL CHECK (used_day >= 0),   -- the same as a day of uptime_days; 0: before the first
	joined   INTEGER NOT NULL CHECK (joined IN (0, 1)) -- a friend ever joined a game under it
) STRICT, WITHOUT ROWID;

CREATE INDEX codes_by_use ON codes (used_day);

CREATE INDEX codes_to_spare ON codes (used_day, used_ms) WHERE joined = 0;

CREATE TABLE forgotten (
	salt  BLOB NOT NULL CHECK (length(salt) = 32), -- the tag's key: random, one for all that one database made
	tag   BLOB NOT NULL CHECK (length(tag) = 16),  -- keyed hash of the id
	at_ms INTEGER NOT NULL,                        -- when, the last time
	heir  BLOB CHECK (length(heir) = 8),           -- who got his campaigns that have other members; zeros: one who is forgotten too;
	                                               -- NULL: they were deleted
	PRIMARY KEY (salt, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX forgotten_by_time ON forgotten (at_ms);

CREATE VIEW games AS
SELECT code,
       version,
       lower(hex(player)) AS host, -- empty for version 1, whose hosts have no id
       (SELECT count(*) FROM live_friends f WHERE f.code = g.code) AS friends,
       datetime(made_ms / 1000, 'unixepoch') AS made
FROM live_games g
ORDER BY made_ms;

CREATE TABLE holders (
	player    BLOB PRIMARY KEY REFERENCES players (id) ON DELETE CASCADE,
	made_ms   INTEGER NOT NULL,                         -- first upload
	addr      BLOB CHECK (length(addr) = 16),           -- keyed hash of its address while the player is young; then NULL
	campaigns INTEGER NOT NULL DEFAULT 0 CHECK (campaigns >= 0), -- without those in the trash, like all here
	bytes     INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
	spare     INTEGER NOT NULL DEFAULT 0 CHECK (spare BETWEEN 0 AND bytes)
) STRICT, WITHOUT ROWID;

CREATE INDEX holders_by_addr ON holders (addr) WHERE addr IS NOT NULL;

CREATE INDEX holders_idle ON holders (made_ms) WHERE campaigns = 0;

CREATE INDEX holders_to_shed ON holders (bytes) WHERE spare > 0;

CREATE INDEX holders_young ON holders (made_ms) WHERE addr IS NOT NULL;

CREATE VIEW leaderboard AS
SELECT b.title_text AS title,
       b.number AS board,
       row_number() OVER (
               PARTITION BY s.board
               ORDER BY iif(b.lower_is_better, s.score, NULL), iif(b.lower_is_better, NULL, s.score) DESC, s.seq
       ) AS rank,
       s.name_text AS name,
       s.score,
       s.comment_text AS comment,
       datetime(s.recorded_ms / 1000, 'unixepoch') AS recorded
FROM scores s
JOIN boards b ON b.id = s.board;

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

CREATE TABLE lobby_creates (
	number    INTEGER PRIMARY KEY,
	addr      BLOB NOT NULL CHECK (length(addr) = 16), -- keyed hash of the address
	addr_wide BLOB CHECK (length(addr_wide) = 16),     -- the same of its /48; only IPv6 has one
	at_ms     INTEGER NOT NULL
) STRICT;

CREATE INDEX lobby_creates_by_time ON lobby_creates (at_ms);

CREATE VIEW lobby_list AS
SELECT lower(hex(id)) AS lobby,
       name,
       game,
       proto,
       world,
       players,
       players_max,
       iif(listed, 'yes', 'no') AS listed,
       iif(locked, 'yes', 'no') AS locked,
       iif(direct_addr <> '', 'yes', 'no') AS direct,
       iif(proved, 'yes', 'no') AS proved, -- whether the host showed that it holds its key
       lower(hex(identity)) AS host,
       datetime(made_ms / 1000, 'unixepoch') AS made,
       datetime(beat_ms / 1000, 'unixepoch') AS beat -- the host's last sign of life, written some seconds late
FROM lobbies;

CREATE TABLE members (
	campaign INTEGER NOT NULL REFERENCES campaigns (number) ON DELETE CASCADE,
	player   BLOB NOT NULL CHECK (length(player) = 8),
	state    INTEGER NOT NULL CHECK (state IN (0, 1, 2)), -- 0: member, 1: left, 2: removed by the owner
	used     INTEGER NOT NULL CHECK (used IN (0, 1)),     -- he loaded or stored it
	PRIMARY KEY (campaign, player)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_by_player ON members (player, state);

CREATE TABLE nat_history (
	day        INTEGER NOT NULL CHECK (day >= 0),                -- since 1970, UTC
	type       INTEGER NOT NULL CHECK (type BETWEEN 0 AND 4),    -- unknown, open, address restricted, port restricted, symmetric
	reason     INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 3),  -- of an unknown one: none, UDP blocked, no answer, no second address
	mapping    INTEGER NOT NULL CHECK (mapping BETWEEN 0 AND 2), -- unknown, the same for all destinations, varies
	conflict   INTEGER NOT NULL CHECK (conflict IN (0, 1)),      -- an unasked packet had taken the place in the router
	is_partial INTEGER NOT NULL CHECK (is_partial IN (0, 1)),    -- found with one address only
	checks     INTEGER NOT NULL CHECK (checks > 0),
	PRIMARY KEY (day, type, reason, mapping, conflict, is_partial)
) STRICT, WITHOUT ROWID;

CREATE VIEW nat_statistics AS
SELECT date(day * 86400, 'unixepoch') AS day,
       CASE type WHEN 1 THEN 'open' WHEN 2 THEN 'address restricted' WHEN 3 THEN 'port restricted'
                 WHEN 4 THEN 'symmetric' ELSE 'unknown' END AS type,
       CASE reason WHEN 1 THEN 'UDP blocked' WHEN 2 THEN 'no answer' WHEN 3 THEN 'second address not reached' ELSE '' END
               AS reason,
       CASE mapping WHEN 1 THEN 'same' WHEN 2 THEN 'varies' ELSE 'unknown' END AS mapping,
       sum(checks) AS checks
FROM nat_history
GROUP BY day, type, reason, mapping;

CREATE TABLE new_players (
	addr  BLOB NOT NULL CHECK (length(addr) = 16), -- keyed hash of the client address
	at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX new_players_by_addr ON new_players (addr, at_ms);

CREATE INDEX new_players_by_time ON new_players (at_ms);

CREATE VIEW player_list AS
SELECT lower(hex(p.id)) AS player,
       c.code,
       datetime(c.used_ms / 1000, 'unixepoch') AS used,
       iif(c.joined, 'yes', 'no') AS joined, -- whether friends ever came
       iif(c.used_day <= (SELECT max(marked_to) FROM uptime_days), 'yes', 'no') AS marked -- goes in some days
FROM players p
LEFT JOIN codes c ON c.player = p.id;

CREATE TABLE player_quotas (
	player     BLOB PRIMARY KEY CHECK (length(player) = 8),
	campaigns  INTEGER CHECK (campaigns >= 0),
	bytes      INTEGER CHECK (bytes >= 0),
	checkpoint INTEGER CHECK (checkpoint >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE players (
	id      BLOB PRIMARY KEY CHECK (length(id) = 8),                              -- the public id
	digest  BLOB NOT NULL CHECK (length(digest) = 32 AND substr(digest, 1, 8) = id), -- SHA-256 of the player key
	made_ms INTEGER NOT NULL                                                      -- first seen
) STRICT, WITHOUT ROWID;

CREATE VIEW quota_use AS
SELECT lower(hex(h.player)) AS player,
       h.campaigns,
       q.campaigns AS campaigns_limit,
       h.bytes,
       q.bytes AS bytes_limit
FROM holders h
LEFT JOIN player_quotas q ON q.player = h.player;

CREATE TABLE scores (
	board        INTEGER NOT NULL REFERENCES boards (id),
	folded       BLOB NOT NULL CHECK (length(folded) <= 16),      -- the player's name, A to Z in lower case
	name         BLOB NOT NULL CHECK (length(name) <= 16),        -- the same as it was written with this score
	score        INTEGER NOT NULL,
	comment      BLOB NOT NULL CHECK (length(comment) <= 64),
	recorded_ms  INTEGER NOT NULL,
	seq          INTEGER NOT NULL CHECK (seq > 0),                -- counts scores of all boards: of equal ones the first leads
	name_text    TEXT NOT NULL CHECK (length(name_text) <= 16),   -- for people
	comment_text TEXT NOT NULL CHECK (length(comment_text) <= 64), -- for people
	PRIMARY KEY (board, folded)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE store_facts (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	store_id BLOB NOT NULL CHECK (length(store_id) = 16), -- random; the blob folder has the same in its file store-id
	made_ms  INTEGER NOT NULL                             -- Unix time, in milliseconds like every *_ms
) STRICT;

CREATE VIEW stored_today AS
SELECT datetime(k.stored_ms / 1000, 'unixepoch') AS stored,
       lower(hex(c.id)) AS campaign,
       k.version,
       lower(hex(k.player)) AS player,
       k.bytes,
       k.name,
       k.level,
       iif(k.is_small, 'yes', 'no') AS small
FROM checkpoints k
JOIN campaigns c ON c.number = k.campaign
WHERE c.trashed_ms IS NULL AND k.stored_ms >= unixepoch('now', 'start of day') * 1000;

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

CREATE TABLE uptime_days (
	day       INTEGER PRIMARY KEY CHECK (day > 0), -- counted from 1; days on which the server did not run have no number
	first_ms  INTEGER NOT NULL,                    -- when the day was noted
	last_ms   INTEGER NOT NULL,                    -- the last time known on that day: what a changed clock is noticed by
	marked_to INTEGER CHECK (marked_to < day)      -- codes last used on this day or before are marked for removal
, campaigns_to INTEGER CHECK (campaigns_to < day)) STRICT;

CREATE TRIGGER version_gone AFTER DELETE ON campaigns BEGIN
	UPDATE versions
	SET gone_day = (SELECT coalesce(max(day), 0) FROM uptime_days)
	WHERE id = OLD.id AND NOT EXISTS (SELECT 1 FROM campaigns WHERE id = OLD.id);
END;

CREATE TABLE versions (
	id       BLOB PRIMARY KEY CHECK (length(id) = 8),
	last     INTEGER NOT NULL CHECK (last > 0),
	gone_day INTEGER CHECK (gone_day >= 0) -- the day of uptime_days on which its last campaign went; NULL: it has one
) STRICT, WITHOUT ROWID;

CREATE INDEX versions_gone ON versions (gone_day) WHERE gone_day IS NOT NULL;
