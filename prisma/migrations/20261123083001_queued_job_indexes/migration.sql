-- no transaction
-- The queued jobs of each user in order of acceptance: when a running job ends, the next job is found without a look at the others.
-- Jobs without a user count as jobs of their workspace. A job that is inserted as running never enters this index.
DROP INDEX CONCURRENTLY IF EXISTS job_queued;
CREATE INDEX CONCURRENTLY job_queued ON job (workspace_id, (coalesce(created_by, workspace_id)), created_at, id)
  WHERE status = 'queued' AND NOT in_line;

-- The jobs behind the active one of a thread: looked for after each end of a job. Hardly any job enters it.
DROP INDEX CONCURRENTLY IF EXISTS job_in_line;
CREATE INDEX CONCURRENTLY job_in_line ON job (workspace_id, thread_id, created_at, id) WHERE status = 'queued' AND in_line;
