-- replaces: 58a7b58f2b91e9fe39e9c619522de75f5db4498fd132b34cc64ae8939fd171fd
-- The caps of a workspace bound the jobs that run at once, no longer the jobs that have not ended.
-- `when_full` says what a start over a cap does: it is queued, or it is refused.

ALTER TABLE workspace
  ADD COLUMN when_full TEXT NOT NULL DEFAULT 'queue',
  ADD CONSTRAINT workspace_when_full CHECK (when_full IN ('queue', 'reject')),
  ALTER COLUMN max_jobs SET DEFAULT 20;
UPDATE workspace SET max_jobs = 20 WHERE max_jobs = 100;

-- A claim compares the running jobs of a workspace and of a user with the caps.
GRANT SELECT (max_jobs, max_jobs_per_user) ON workspace TO nightshift_engine;
