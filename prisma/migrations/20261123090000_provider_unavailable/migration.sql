-- A job waits while its model provider cannot be used.
ALTER TABLE interrupt
  DROP CONSTRAINT interrupt_kind,
  ADD CONSTRAINT interrupt_kind
    CHECK (kind IN ('tool_approval', 'client_tool', 'human_input', 'unknown_outcome', 'wait', 'provider_unavailable'));

-- Where a job that asks its model again after a failure stands in its outage.
CREATE INDEX interrupt_outage ON interrupt (workspace_id, job_id, id) WHERE kind = 'provider_unavailable';
