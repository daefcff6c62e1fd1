-- What many nodes of a workflow tell in one write is one row of the log: `seq` is the number of its last event, `events` says how many
-- they are, and `body` of type `packed` holds them as [[type, body], …].

-- AlterTable
ALTER TABLE "job_event" ADD COLUMN     "events" SMALLINT NOT NULL DEFAULT 1;

-- A node run has one number in its job, and one writer, which knows all its runs by their keys: one index is enough.

-- DropIndex
DROP INDEX "node_run_workspace_id_job_id_node_id_iteration_key";

-- NOT VALID: it holds for rows written from now on. Those from before have one event each by the column's default, so that reading all of
-- a big log under its lock would tell nothing.
ALTER TABLE job_event ADD CONSTRAINT job_event_events
  CHECK (events > 0 AND events <= seq AND (events > 1) = (type = 'packed')) NOT VALID;
