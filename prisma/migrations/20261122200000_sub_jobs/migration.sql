-- Sub-jobs: jobs that calls of other jobs have started.

-- AlterTable
ALTER TABLE "job" ADD COLUMN     "depth" SMALLINT NOT NULL DEFAULT 0,
ADD COLUMN     "parent_call_id" UUID,
ADD COLUMN     "parent_job_id" UUID,
ADD COLUMN     "root_job_id" UUID;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks and partial indexes. Jobs without a parent stand in none of these indexes.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE job ADD CONSTRAINT job_parent CHECK (
  (depth = 0 AND parent_job_id IS NULL AND parent_call_id IS NULL AND root_job_id IS NULL)
  OR (depth > 0 AND parent_job_id IS NOT NULL AND parent_call_id IS NOT NULL AND root_job_id IS NOT NULL)) NOT VALID;
ALTER TABLE job VALIDATE CONSTRAINT job_parent;

-- A call starts one job, whoever starts it.
CREATE UNIQUE INDEX job_of_call ON job (workspace_id, parent_job_id, parent_call_id) WHERE parent_job_id IS NOT NULL;
-- What the sweep looks through.
CREATE INDEX job_open_sub_jobs ON job (workspace_id, parent_job_id)
  WHERE parent_job_id IS NOT NULL AND status IN ('queued', 'running', 'waiting');

-- `job`: the call is the work of a job of its own.
ALTER TABLE tool_call DROP CONSTRAINT tool_call_executor;
ALTER TABLE tool_call ADD CONSTRAINT tool_call_executor CHECK (executor IN ('worker', 'queue', 'client', 'job')) NOT VALID;
ALTER TABLE tool_call VALIDATE CONSTRAINT tool_call_executor;
