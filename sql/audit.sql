-- What operators did.

-- name: audit_begin
INSERT INTO audit (at_ms, who, via, address, action, target, detail, result)
VALUES (:at_ms, :who, :via, :address, :action, :target, :detail, 'begun')
RETURNING id;

-- name: audit_end
UPDATE audit SET target = :target, result = :result, ended_ms = :ended_ms WHERE id = :id;

-- name: audit_thin
DELETE FROM audit WHERE at_ms < :before_ms OR id <= (SELECT max(id) FROM audit) - :rows;

-- name: audit_page
-- Newest first.  after: the id behind which it goes on; 0: from the newest.
SELECT id, at_ms, who, via, address, action, target, detail, result, ended_ms
FROM audit
WHERE (:after = 0 OR id < :after)
  AND at_ms >= :since_ms
  AND at_ms <= :until_ms
  AND (:who = '' OR instr(who, :who) > 0)
  AND (:action = '' OR action = :action OR substr(action, 1, length(:action) + 1) = :action || '.')
  AND (:target = '' OR instr(target, :target) > 0)
ORDER BY id DESC
LIMIT :rows;
