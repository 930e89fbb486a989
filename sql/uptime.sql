-- Days of uptime: see src/store/upkeep.h.

-- name: uptime_last
SELECT day, first_ms, last_ms FROM uptime_days ORDER BY day DESC LIMIT 1;

-- name: uptime_add
INSERT INTO uptime_days (day, first_ms, last_ms) VALUES (:day, :first_ms, :first_ms);

-- name: uptime_seen
UPDATE uptime_days SET last_ms = :last_ms WHERE day = :day;

-- name: uptime_mark
UPDATE uptime_days SET marked_to = :marked_to WHERE day = :day;

-- name: uptime_marked
-- Up to which day of use codes were marked, by the end of that day.
SELECT max(marked_to) FROM uptime_days WHERE day <= :day;
