-- What NAT checks have found, counted by day (p2p.nat_history_days): for statistics, without players and without addresses.
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

-- What people read with sqlite3 -readonly.
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
