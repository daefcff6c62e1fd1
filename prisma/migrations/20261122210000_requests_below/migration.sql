-- What jobs below a job wait for is looked up from there, as long as it is open.

CREATE INDEX interrupt_below ON interrupt (workspace_id, root_job_id) WHERE status = 'open' AND root_job_id IS NOT NULL;
