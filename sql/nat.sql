-- What NAT checks have found, counted by day.

-- name: nat_count
INSERT INTO nat_history (day, type, reason, mapping, conflict, is_partial, checks)
VALUES (:day, :type, :reason, :mapping, :conflict, :is_partial, 1)
ON CONFLICT DO UPDATE SET checks = checks + 1;

-- name: nat_forget
DELETE FROM nat_history WHERE day < :before_day;
