-- no transaction
-- What retention deletes, and how many runs a trigger has accepted lately.
CREATE INDEX CONCURRENTLY IF NOT EXISTS document_change_workspace_id_received_at_idx ON document_change (workspace_id, received_at);
CREATE INDEX CONCURRENTLY IF NOT EXISTS trigger_run_workspace_id_trigger_id_created_at_idx ON trigger_run (workspace_id, trigger_id, created_at);
CREATE INDEX CONCURRENTLY IF NOT EXISTS trigger_run_workspace_id_created_at_idx ON trigger_run (workspace_id, created_at);
