-- The upkeep of jobs looks at their keys: a job whose key was given today is kept.

CREATE POLICY engine ON admission FOR SELECT TO nightshift_engine USING (true);
GRANT SELECT (workspace_id, job_id, created_at) ON admission TO nightshift_engine;
