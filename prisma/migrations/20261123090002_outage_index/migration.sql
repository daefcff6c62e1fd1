-- no transaction
-- Where a job that asks its model again after a failure stands in its outage.
DROP INDEX CONCURRENTLY IF EXISTS interrupt_outage;
CREATE INDEX CONCURRENTLY interrupt_outage ON interrupt (workspace_id, job_id, id) WHERE kind = 'provider_unavailable';
