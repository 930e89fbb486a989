-- How the store thread shares one transaction among many jobs.

-- name: batch_begin
BEGIN IMMEDIATE;

-- name: batch_commit
COMMIT;

-- name: batch_undo
ROLLBACK;

-- name: job_begin
SAVEPOINT job;

-- name: job_keep
RELEASE job;

-- name: job_undo
ROLLBACK TO job;

-- name: read_begin
BEGIN;

-- name: read_end
COMMIT;
