-- What operators did.

-- name: audit_begin
INSERT INTO audit (at_ms, who, via, address, action, target, detail, result)
VALUES (:at_ms, :who, :via, :address, :action, :target, :detail, 'begun')
RETURNING id;

-- name: audit_end
UPDATE audit SET target = :target, result = :result, ended_ms = :ended_ms WHERE id = :id;

-- name: audit_forget
DELETE FROM audit WHERE at_ms < :before_ms;

-- name: audit_thin_refused
-- What is too much goes by age, but what came to nothing first: nobody is to push out what he did by what he may not do.
DELETE FROM audit
WHERE id IN (SELECT id FROM audit
             WHERE result NOT IN ('ok', 'begun')
             ORDER BY id
             LIMIT max(0, (SELECT count(*) FROM audit) - :rows));

-- name: audit_thin_rest
DELETE FROM audit
WHERE id IN (SELECT id FROM audit
             ORDER BY id
             LIMIT max(0, (SELECT count(*) FROM audit) - :rows));

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
