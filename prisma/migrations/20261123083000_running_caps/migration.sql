-- The caps of a workspace bound the jobs that run at once, no longer the jobs that have not ended.
-- `when_full` says what a start over a cap does: it is queued, or it is refused.

ALTER TABLE workspace
  ADD COLUMN when_full TEXT NOT NULL DEFAULT 'queue',
  ADD CONSTRAINT workspace_when_full CHECK (when_full IN ('queue', 'reject')),
  ALTER COLUMN max_jobs SET DEFAULT 20;
UPDATE workspace SET max_jobs = 20 WHERE max_jobs = 100;

-- A claim compares the running jobs of a workspace and of a user with the caps.
GRANT SELECT (max_jobs, max_jobs_per_user) ON workspace TO nightshift_engine;

-- The queued jobs of each user in order of acceptance: when a running job ends, the next job is found without a look at the others.
-- Jobs without a user count as jobs of their workspace. A job that is inserted as running never enters this index.
CREATE INDEX job_queued ON job (workspace_id, (coalesce(created_by, workspace_id)), created_at, id)
  WHERE status = 'queued' AND NOT in_line;

-- The jobs behind the active one of a thread: looked for after each end of a job. Hardly any job enters it.
CREATE INDEX job_in_line ON job (workspace_id, thread_id, created_at, id) WHERE status = 'queued' AND in_line;
