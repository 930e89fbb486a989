-- Who may not come in, on any surface.
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
