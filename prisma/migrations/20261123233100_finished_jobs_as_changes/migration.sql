-- The end of a job is a change of the collection `jobs` for triggers of the workspace's own database, written in the transaction of the end.
-- A workspace without such a trigger costs one index probe for each job that ends.

-- AlterTable
ALTER TABLE "trigger_run" ADD COLUMN "depth" INTEGER NOT NULL DEFAULT 0;

CREATE INDEX trigger_definition_own_rows ON trigger_definition (workspace_id) WHERE own_rows AND enabled;

CREATE FUNCTION job_finished_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.document_change (workspace_id, id, database, key, body)
  SELECT NEW.workspace_id, gen_random_uuid(), t.database, 'job:' || NEW.id, jsonb_build_object(
      'type', 'update', 'collection', 'jobs', 'documentId', NEW.id, 'timestamp', (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
      'before', jsonb_build_object('kind', NEW.kind, 'status', OLD.status),
      'document', jsonb_build_object('kind', NEW.kind, 'status', NEW.status, 'threadId', NEW.thread_id, 'workflowId', NEW.workflow_id,
        'agentId', NEW.agent_id, 'parentJobId', NEW.parent_job_id, 'error', NEW.error,
        'createdAt', (extract(epoch FROM NEW.created_at) * 1000)::bigint,
        'finishedAt', (extract(epoch FROM NEW.finished_at) * 1000)::bigint))
    FROM (SELECT DISTINCT database FROM public.trigger_definition
           WHERE workspace_id = NEW.workspace_id AND own_rows AND enabled AND definition->>'source' = 'changes') t
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
ALTER FUNCTION job_finished_change() OWNER TO nightshift_owner;
REVOKE ALL ON FUNCTION job_finished_change() FROM PUBLIC;

CREATE TRIGGER job_finished_change AFTER UPDATE OF status ON job FOR EACH ROW
  WHEN (OLD.status IN ('queued', 'running', 'waiting') AND NEW.status IN ('completed', 'failed', 'cancelled'))
  EXECUTE FUNCTION job_finished_change();
