-- Blobs: see src/store/blob.h.

-- name: blob_add
INSERT INTO blobs (hash, bytes) VALUES (:hash, :bytes) ON CONFLICT (hash) DO UPDATE SET bytes = excluded.bytes;

-- name: blob_find
SELECT bytes FROM blobs WHERE hash = :hash;

-- name: blob_remove
DELETE FROM blobs WHERE hash = :hash;

-- name: blob_is_named
SELECT 1 FROM checkpoints WHERE sha256 = :hash LIMIT 1;

-- name: blob_range
-- Everything the database knows of in one folder. Garbage has no size: it is nobody's any more, and goes its own way.
SELECT hash, bytes FROM blobs WHERE hash BETWEEN :first AND :last
UNION ALL
SELECT hash, -1 FROM blob_garbage WHERE hash BETWEEN :first AND :last
ORDER BY hash;

-- name: blob_any
SELECT EXISTS (SELECT 1 FROM blobs) OR EXISTS (SELECT 1 FROM blob_garbage);

-- name: blob_totals
SELECT count(*), coalesce(sum(bytes), 0) FROM blobs;

-- name: blob_needed_by
-- Which campaigns cannot do without it.
SELECT DISTINCT c.id FROM checkpoints k JOIN campaigns c ON c.number = k.campaign WHERE k.sha256 = :hash ORDER BY c.id;

-- name: garbage_add
INSERT INTO blob_garbage (hash, is_old) VALUES (:hash, 0) ON CONFLICT (hash) DO UPDATE SET is_old = 0;

-- name: garbage_find
SELECT is_old FROM blob_garbage WHERE hash = :hash;

-- name: garbage_remove
DELETE FROM blob_garbage WHERE hash = :hash;

-- name: garbage_next
SELECT hash, is_old FROM blob_garbage WHERE hash > :after ORDER BY hash LIMIT :max;

-- name: garbage_age
-- At a start: the database may be an older one, put back beside the blobs of a newer.
UPDATE blob_garbage SET is_old = 1 WHERE is_old = 0;

-- name: blob_each
-- All that must be there, also what only a checkpoint speaks of.
SELECT hash, max(bytes)
FROM (SELECT hash, bytes FROM blobs UNION ALL SELECT sha256, bytes FROM checkpoints)
GROUP BY hash
ORDER BY hash;
