-- replaces: aa21e43a2b6e3f8cc14e6096fd18242d5bd5de991bda38154398af512e5f2356
-- A job waits while its model provider cannot be used.
ALTER TABLE interrupt
  DROP CONSTRAINT interrupt_kind,
  ADD CONSTRAINT interrupt_kind
    CHECK (kind IN ('tool_approval', 'client_tool', 'human_input', 'unknown_outcome', 'wait', 'provider_unavailable')) NOT VALID;
