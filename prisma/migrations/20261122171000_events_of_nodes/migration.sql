-- The state of a workflow is read while it runs: where its nodes and branches were begun is found without its texts.
CREATE INDEX job_event_of_nodes ON job_event (workspace_id, job_id, seq)
  WHERE type IN ('node-started', 'branch-started', 'branch-finished', 'packed');
