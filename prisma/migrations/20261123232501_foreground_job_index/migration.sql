-- no transaction
-- Unfinished jobs that run only while a client follows them: workers look for those without one.
DROP INDEX CONCURRENTLY IF EXISTS job_foreground;
CREATE INDEX CONCURRENTLY job_foreground ON job (id) WHERE foreground AND status IN ('queued', 'running', 'waiting');
