-- no transaction
-- The next run of a trigger.
DROP INDEX CONCURRENTLY IF EXISTS trigger_run_next;
CREATE INDEX CONCURRENTLY trigger_run_next ON trigger_run (workspace_id, trigger_id, id) WHERE status = 'due';
