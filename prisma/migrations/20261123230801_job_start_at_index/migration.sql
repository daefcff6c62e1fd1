-- no transaction
-- What the sweep of delayed jobs looks for.
CREATE INDEX CONCURRENTLY IF NOT EXISTS job_delayed ON job (start_at) WHERE status = 'queued' AND in_line AND start_at IS NOT NULL;
