-- A cap on the running jobs of an agent. A job without an agent, and a job of an agent without a cap, is limited by workspace and user alone.

ALTER TABLE job ADD COLUMN agent_id UUID;
ALTER TABLE agent
  ADD COLUMN max_running_jobs INTEGER,
  ADD CONSTRAINT agent_max_running_jobs CHECK (max_running_jobs > 0);

-- A claim compares the running jobs of an agent with its cap.
CREATE POLICY engine ON agent FOR SELECT TO nightshift_engine USING (true);
GRANT SELECT (workspace_id, id, max_running_jobs) ON agent TO nightshift_engine;
