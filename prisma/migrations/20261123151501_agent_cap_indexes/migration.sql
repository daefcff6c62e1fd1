-- no transaction
-- The queued jobs of each user and agent in order of acceptance: the search for the next job passes over all jobs of a full agent at once.
-- Jobs without a user or without an agent are indexed under their workspace. A job that is inserted as running never enters this index.
DROP INDEX CONCURRENTLY IF EXISTS job_next;
CREATE INDEX CONCURRENTLY job_next ON job (workspace_id, (coalesce(created_by, workspace_id)), (coalesce(agent_id, workspace_id)), created_at, id)
  WHERE status = 'queued' AND NOT in_line;
DROP INDEX CONCURRENTLY IF EXISTS job_queued;

-- The queued jobs of an agent, counted where a start over a cap is refused.
DROP INDEX CONCURRENTLY IF EXISTS job_queued_of_agent;
CREATE INDEX CONCURRENTLY job_queued_of_agent ON job (workspace_id, agent_id)
  WHERE status = 'queued' AND NOT in_line AND agent_id IS NOT NULL;
