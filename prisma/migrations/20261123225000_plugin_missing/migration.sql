-- A job waits while no plugin of its worker defines the type of a workflow node.
ALTER TABLE interrupt
  DROP CONSTRAINT interrupt_kind,
  ADD CONSTRAINT interrupt_kind
    CHECK (kind IN ('tool_approval', 'client_tool', 'human_input', 'unknown_outcome', 'wait', 'provider_unavailable', 'plugin_missing')) NOT VALID;
