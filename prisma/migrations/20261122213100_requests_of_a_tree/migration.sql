-- What a job and all jobs below it have asked is listed in the order of asking, whether it is open or not. Few requests are of jobs
-- below others: the index is as large as these.

CREATE INDEX interrupt_below_root ON interrupt (workspace_id, root_job_id, id) WHERE root_job_id IS NOT NULL;
DROP INDEX interrupt_below;
