-- A person can cancel a run that waits for its time.
ALTER TABLE trigger_run
  DROP CONSTRAINT trigger_run_status,
  ADD CONSTRAINT trigger_run_status CHECK (status IN ('due', 'started', 'failed', 'cancelled')) NOT VALID;
