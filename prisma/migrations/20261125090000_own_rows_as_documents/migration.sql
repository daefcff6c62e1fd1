-- Messages, tool calls and jobs of a workspace are documents of its own database: each change of a row is stored as a change of a document, in
-- the transaction that writes the row. A row of a workspace without a trigger for its kind costs one probe of the partial index
-- trigger_definition_own_kinds. An error of an insert here fails the transaction of the row: catching it would lose the change.

-- AlterTable
ALTER TABLE "trigger_definition" ADD COLUMN "own_kinds" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "document_change" ADD COLUMN "own" BOOLEAN NOT NULL DEFAULT false;

ALTER TABLE trigger_definition ALTER COLUMN own_kinds SET NOT NULL,
  ADD CONSTRAINT trigger_definition_own_kinds CHECK (own_kinds <@ ARRAY['jobs', 'messages', 'tool-calls']);
-- A pattern is saved with the kinds that it may match; here, by the number of its segments.
UPDATE trigger_definition SET own_kinds = CASE array_length(string_to_array(definition->>'collection', '/'), 1)
    WHEN 1 THEN ARRAY['jobs'] WHEN 3 THEN ARRAY['messages', 'tool-calls'] ELSE own_kinds END
 WHERE own_rows AND definition->>'source' = 'changes';
UPDATE document_change SET own = true WHERE key LIKE 'job:%' AND body IS NOT NULL;

DROP TRIGGER job_finished_change ON job;
DROP FUNCTION job_finished_change();
DROP INDEX trigger_definition_own_rows;
-- AlterTable
ALTER TABLE "trigger_definition" DROP COLUMN "own_rows";
CREATE INDEX trigger_definition_own_kinds ON trigger_definition (workspace_id) WHERE enabled AND own_kinds <> '{}';

-- Stores a change for each name of the database that a trigger for this kind of row has.
CREATE FUNCTION add_own_change(workspace uuid, kind text, change jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.document_change (workspace_id, id, database, own, body)
  SELECT workspace, gen_random_uuid(), t.database, true,
         change || jsonb_build_object('timestamp', (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    FROM (SELECT DISTINCT database FROM public.trigger_definition
           WHERE workspace_id = workspace AND enabled AND own_kinds <> '{}' AND kind = ANY (own_kinds)) t;
END $$;

CREATE FUNCTION own_instant(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN (extract(epoch FROM at) * 1000)::bigint;

-- Arguments of a tool call are text of a model: `{}` if it is no JSON, or JSON that jsonb rejects.
CREATE FUNCTION own_arguments(given text) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN given::jsonb;
EXCEPTION WHEN OTHERS THEN
  RETURN '{}';
END $$;

-- Null: nothing of the call has been decided for good.
CREATE FUNCTION own_call_status(status text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN status = 'completed' THEN 'success' WHEN status IN ('error', 'timed_out', 'skipped', 'denied', 'cancelled') THEN 'failed' ELSE 'pending' END;

-- The documents, without their ids. Clients with a token of a delivery read the same ones.
CREATE FUNCTION own_call(c public.tool_call, status text) RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('toolName', c.name, 'status', status, 'jobId', c.job_id, 'createdAt', public.own_instant(c.created_at),
    'args', public.own_arguments(coalesce(c.executed_arguments, c.approved_arguments, c.arguments)),
    'result', CASE WHEN status = 'success' THEN c.result END, 'error', CASE WHEN status = 'failed' THEN c.error->>'message' END)
$$;
CREATE FUNCTION own_request(m public.message, job_id uuid) RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('role', m.role, 'position', m.position, 'createdAt', public.own_instant(m.created_at), 'jobId', job_id,
    'content', CASE jsonb_typeof(m.content) WHEN 'object' THEN m.content->'content' ELSE m.content END)
$$;
-- The response of a job that has ended, at that time: it follows the calls of the job.
CREATE FUNCTION own_response(m public.message, ended_at timestamptz) RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('role', m.role, 'position', m.position, 'createdAt', public.own_instant(ended_at), 'jobId', m.job_id,
    'content', coalesce((SELECT string_agg(r.text, '' ORDER BY r.number) FROM public.round r
      WHERE r.workspace_id = m.workspace_id AND r.job_id = m.job_id AND r.node_run IS NULL), ''))
$$;
CREATE FUNCTION own_job(j public.job) RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('kind', j.kind, 'status', j.status, 'threadId', j.thread_id, 'workflowId', j.workflow_id,
    'agentId', j.agent_id, 'parentJobId', j.parent_job_id, 'error', j.error,
    'createdAt', public.own_instant(j.created_at), 'finishedAt', public.own_instant(j.finished_at))
$$;

CREATE FUNCTION add_call_change(c public.tool_call, event text, status text, before_status text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM public.add_own_change(c.workspace_id, 'tool-calls', jsonb_build_object(
    'type', event, 'collection', 'threads/' || c.thread_id || '/tool-calls', 'documentId', c.id, 'document', public.own_call(c, status))
    || CASE WHEN before_status IS NULL THEN '{}' ELSE jsonb_build_object('before', jsonb_build_object('toolName', c.name, 'status', before_status)) END);
END $$;

-- A call that was inserted with its result was pending before.
CREATE FUNCTION tool_call_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  status text;
  before_status text := 'pending';
BEGIN
  IF NOT EXISTS (SELECT FROM public.trigger_definition
                  WHERE workspace_id = NEW.workspace_id AND enabled AND own_kinds <> '{}' AND 'tool-calls' = ANY (own_kinds)) THEN
    RETURN NULL;
  END IF;
  status := public.own_call_status(NEW.status);
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_call_change(NEW, 'create', 'pending', NULL);
  ELSIF OLD.status = 'interrupted' AND EXISTS (SELECT FROM public.job
      WHERE workspace_id = NEW.workspace_id AND id = NEW.job_id AND job.status IN ('completed', 'failed', 'cancelled')) THEN
    before_status := 'failed'; -- since the end of its job
  END IF;
  IF status <> before_status THEN
    PERFORM public.add_call_change(NEW, 'update', status, before_status);
  END IF;
  RETURN NULL;
END $$;

-- The text of an assistant message of a job is in the rounds of the job: the message is complete when the job ends.
CREATE FUNCTION message_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.trigger_definition
                  WHERE workspace_id = NEW.workspace_id AND enabled AND own_kinds <> '{}' AND 'messages' = ANY (own_kinds)) THEN
    RETURN NULL;
  END IF;
  -- A request enters its thread in one statement: its messages, then the row of the response, which names the job. That is one of the next rows,
  -- or, after a long request, the last row of the thread: at most nine rows are read for a message.
  PERFORM public.add_own_change(NEW.workspace_id, 'messages', jsonb_build_object(
    'type', 'create', 'collection', 'threads/' || NEW.thread_id || '/messages', 'documentId', NEW.id,
    'document', public.own_request(NEW, coalesce(NEW.said_to_job_id,
      (SELECT later.job_id FROM (SELECT m.job_id FROM public.message m
          WHERE m.workspace_id = NEW.workspace_id AND m.thread_id = NEW.thread_id AND m.position > NEW.position
          ORDER BY m.position LIMIT 8) later WHERE later.job_id IS NOT NULL LIMIT 1),
      (SELECT m.job_id FROM public.message m WHERE m.workspace_id = NEW.workspace_id AND m.thread_id = NEW.thread_id
        ORDER BY m.position DESC LIMIT 1)))));
  RETURN NULL;
END $$;

-- Also completes what the end of the job decides: calls with an unknown outcome, and the assistant message.
CREATE FUNCTION job_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  is_end boolean := TG_OP = 'UPDATE' AND NEW.status IN ('completed', 'failed', 'cancelled');
BEGIN
  IF NOT EXISTS (SELECT FROM public.trigger_definition
                  WHERE workspace_id = NEW.workspace_id AND enabled AND own_kinds <> '{}' AND (is_end OR 'jobs' = ANY (own_kinds))) THEN
    RETURN NULL;
  END IF;
  IF is_end AND NEW.thread_id IS NOT NULL THEN
    PERFORM public.add_call_change(c, 'update', 'failed', 'pending') FROM public.tool_call c
      WHERE c.workspace_id = NEW.workspace_id AND c.job_id = NEW.id AND c.thread_id IS NOT NULL AND c.status = 'interrupted';
    PERFORM public.add_own_change(m.workspace_id, 'messages', jsonb_build_object(
        'type', 'create', 'collection', 'threads/' || m.thread_id || '/messages', 'documentId', m.id,
        'document', public.own_response(m, NEW.finished_at)))
      FROM public.message m WHERE m.workspace_id = NEW.workspace_id AND m.id = NEW.message_id;
  END IF;
  PERFORM public.add_own_change(NEW.workspace_id, 'jobs', jsonb_build_object(
      'type', CASE TG_OP WHEN 'INSERT' THEN 'create' ELSE 'update' END, 'collection', 'jobs', 'documentId', NEW.id,
      'document', public.own_job(NEW))
    || CASE TG_OP WHEN 'INSERT' THEN '{}'
         ELSE jsonb_build_object('before', jsonb_build_object('kind', NEW.kind, 'status', OLD.status)) END);
  RETURN NULL;
END $$;

DO $$
DECLARE f text;
BEGIN
  FOREACH f IN ARRAY ARRAY['add_own_change(uuid, text, jsonb)', 'own_instant(timestamptz)', 'own_arguments(text)', 'own_call_status(text)',
      'own_call(tool_call, text)', 'own_request(message, uuid)', 'own_response(message, timestamptz)', 'own_job(job)',
      'add_call_change(tool_call, text, text, text)', 'tool_call_change()', 'message_change()', 'job_change()'] LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO nightshift_owner', f);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION own_instant(timestamptz), own_arguments(text), own_call_status(text), own_call(tool_call, text),
  own_request(message, uuid), own_response(message, timestamptz), own_job(job) TO nightshift_api;

CREATE TRIGGER message_change AFTER INSERT ON message FOR EACH ROW WHEN (NEW.content IS NOT NULL) EXECUTE FUNCTION message_change();
CREATE TRIGGER tool_call_added AFTER INSERT ON tool_call FOR EACH ROW WHEN (NEW.thread_id IS NOT NULL) EXECUTE FUNCTION tool_call_change();
-- Every other move keeps the status of the document: pending.
CREATE TRIGGER tool_call_change AFTER UPDATE OF status ON tool_call FOR EACH ROW
  WHEN (NEW.thread_id IS NOT NULL AND NEW.status <> OLD.status
        AND NEW.status IN ('completed', 'error', 'timed_out', 'skipped', 'denied', 'cancelled'))
  EXECUTE FUNCTION tool_call_change();
CREATE TRIGGER job_added AFTER INSERT ON job FOR EACH ROW EXECUTE FUNCTION job_change();
CREATE TRIGGER job_change AFTER UPDATE OF status ON job FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION job_change();
