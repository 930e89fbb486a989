-- Who may not come in.

-- name: ban_add
INSERT INTO bans (kind, value, reason, made_ms, made_by, until_ms)
VALUES (:kind, :value, :reason, :made_ms, :made_by, nullif(:until_ms, 0))
RETURNING id;

-- name: ban_remove
DELETE FROM bans WHERE id = :id;

-- name: ban_expire
DELETE FROM bans WHERE until_ms <= :now_ms;

-- name: ban_make_way
DELETE FROM bans WHERE kind = :kind AND value = :value AND until_ms <= :now_ms;

-- name: ban_room
-- How many hold; and whether one of them is this one.
SELECT count(*), count(*) FILTER (WHERE kind = :kind AND value = :value)
FROM bans
WHERE until_ms IS NULL OR until_ms > :now_ms;

-- name: ban_find
SELECT id, kind, value, reason, made_ms, made_by, until_ms FROM bans WHERE id = :id;

-- name: ban_page
-- By id.  kind -1 and text '': any.
SELECT id, kind, value, reason, made_ms, made_by, until_ms
FROM bans
WHERE id > :after
  AND (until_ms IS NULL OR until_ms > :now_ms)
  AND (:kind = -1 OR kind = :kind)
  AND (:text = '' OR instr(lower(value), lower(:text)) > 0 OR instr(lower(reason), lower(:text)) > 0)
ORDER BY id
LIMIT :rows;
