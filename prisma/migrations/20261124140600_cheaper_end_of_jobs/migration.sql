-- The end of a job in a workspace without an enabled trigger for its own rows costs one probe of the partial index trigger_definition_own_rows.
-- An error of the insert fails the transaction of the end: catching it would lose the change. The job keeps its lease and its committed rounds, and
-- the worker or the sweeper ends it again.
CREATE OR REPLACE FUNCTION job_finished_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.trigger_definition WHERE workspace_id = NEW.workspace_id AND own_rows AND enabled) THEN
    RETURN NULL;
  END IF;
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
