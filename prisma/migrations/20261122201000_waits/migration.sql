-- A node that waits for its time or for an event asks nobody.
ALTER TABLE interrupt
  DROP CONSTRAINT interrupt_kind,
  ADD CONSTRAINT interrupt_kind CHECK (kind IN ('tool_approval', 'client_tool', 'human_input', 'unknown_outcome', 'wait'));
