-- A trigger starts its runs in their order, and reserves a run before it starts the job.
ALTER TABLE trigger_run
  ADD COLUMN phase text NOT NULL DEFAULT 'waiting',
  ADD COLUMN thread text,
  ADD CONSTRAINT trigger_run_phase CHECK (phase IN ('waiting', 'ready', 'starting')) NOT VALID;
