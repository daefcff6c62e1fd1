-- The history of tool calls across jobs: what its filters read, and what it costs to write is in
-- docs/adr/2026-11-21-tool-call-history.md.

-- AlterTable
ALTER TABLE "tool_call" ADD COLUMN     "argument_keys" BIGINT[],
ADD COLUMN     "workflow_id" UUID;

-- What became of a call that did not complete: `status`, `status:phase` or `status:phase/code`; null while it is open and
-- when it completed. One column, so that one index serves every filter by failure.
ALTER TABLE tool_call ADD COLUMN outcome text GENERATED ALWAYS AS (
  CASE WHEN status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running', 'completed')
    THEN status || coalesce(':' || (error ->> 'phase'), '') || coalesce('/' || (error ->> 'code'), '') END) STORED;

-- Calls from before: what their jobs and their own columns still tell.
UPDATE tool_call t SET thread_id = j.thread_id, created_by = j.created_by,
       duration_ms = coalesce(t.duration_ms, CASE WHEN t.finished_at >= t.started_at AND t.status <> 'interrupted'
         THEN least(extract(epoch FROM t.finished_at - t.started_at) * 1000, 2147483647)::int END),
       result_bytes = coalesce(t.result_bytes, octet_length(t.result))
  FROM job j WHERE j.workspace_id = t.workspace_id AND j.id = t.job_id;

-- ---------------------------------------------------------------------------------------------------------------
-- Contents are found by hashes: of the workspace, of the day of the call, and of one thing it contains. A tenant's search never
-- touches another's entries, and a search reads as many days as it needs.
-- ---------------------------------------------------------------------------------------------------------------

CREATE FUNCTION tool_call_seed(workspace_id uuid, day int) RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended(workspace_id::text, day);
CREATE FUNCTION tool_call_key(seed bigint, content text) RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended(content, seed);

-- The day of a uuid v7, since the epoch.
CREATE FUNCTION tool_call_day(id uuid) RETURNS int
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ((('x' || left(id::text, 8) || substr(id::text, 10, 4))::bit(48)::bigint) / 86400000)::int;

-- Less than every id of this day.
CREATE FUNCTION tool_call_day_start(day int) RETURNS uuid
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN (lpad(to_hex(day::bigint * 86400000), 12, '0') || repeat('0', 20))::uuid;

-- The words of a failure, as a search for them sees them: of the first 1,000 characters, letters and digits in lower case.
CREATE FUNCTION tool_call_words(message text) RETURNS text[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN string_to_array(trim(regexp_replace(lower(left(message, 1000)), '[^[:alnum:]]+', ' ', 'g')), ' ');

CREATE FUNCTION tool_call_word_keys(workspace_id uuid, id uuid, error jsonb) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY(SELECT tool_call_key(s.seed, word) FROM (SELECT tool_call_seed(workspace_id, tool_call_day(id)) AS seed OFFSET 0) AS s
                CROSS JOIN unnest(tool_call_words(error ->> 'message')) AS word);

-- Indexes of the history hold settled calls only: a call enters them once, however often it moved before. The few that are
-- open have an index of their own, which every list reads as well.
CREATE INDEX tool_call_open ON tool_call (workspace_id, id)
  WHERE status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running');
CREATE INDEX tool_call_by_user ON tool_call (workspace_id, created_by, id)
  WHERE status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running');
CREATE INDEX tool_call_by_thread ON tool_call (workspace_id, thread_id, id)
  WHERE status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running');
CREATE INDEX tool_call_by_tool ON tool_call (workspace_id, name, id)
  WHERE status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running');
CREATE INDEX tool_call_by_duration ON tool_call (workspace_id, duration_ms, name, id) WHERE duration_ms IS NOT NULL;
CREATE INDEX tool_call_by_outcome ON tool_call (workspace_id, outcome, id) WHERE outcome IS NOT NULL;
CREATE INDEX tool_call_by_runtime ON tool_call (workspace_id, runtime, id)
  WHERE status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running') AND runtime <> 'server';
CREATE INDEX tool_call_by_approver ON tool_call (workspace_id, decided_by, id) WHERE decided_by IS NOT NULL;
CREATE INDEX tool_call_by_workflow ON tool_call (workspace_id, workflow_id, id) WHERE workflow_id IS NOT NULL;
-- A small pending list: it is read by every search, and emptied by whoever fills it.
CREATE INDEX tool_call_by_argument ON tool_call USING gin (argument_keys)
  WITH (fastupdate = on, gin_pending_list_limit = 512)
  WHERE status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running') AND argument_keys IS NOT NULL;
CREATE INDEX tool_call_by_error_word ON tool_call USING gin (tool_call_word_keys(workspace_id, id, error))
  WITH (fastupdate = on, gin_pending_list_limit = 512) WHERE error IS NOT NULL;

-- Lists read indexes without their rows, which needs pages that vacuum has seen.
ALTER TABLE tool_call SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);

-- On the reviewed list of SECURITY DEFINER functions (see the identity migration). Row-level security lets no index be
-- entered by an operator that is not leakproof, and those of arrays are not; so this function stands outside the policy and keeps
-- it itself: the workspace is that of the transaction, hashed into each key it looks for and compared on each row it gives.
--
-- The calls of the workspace that contain all of p_contents (at most 3 count), from p_from to p_to, both included; these should
-- be ids of calls, since the days between them are gone through whether or not anything happened. The newest day, or the
-- oldest, comes first; then days are read in steps of 1, 2, 4 …, each step whole or not at all, until more than p_most calls
-- are found. `ids`, in no order, is complete up to `reach`, which is no call's id; null: up to the end.
CREATE FUNCTION tool_call_search(p_error boolean, p_contents text[], p_from uuid, p_to uuid, p_newest_first boolean, p_most int,
                                 OUT ids uuid[], OUT reach uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on AS $$
DECLARE
  ws CONSTANT uuid := nullif(current_setting('app.workspace', true), '')::uuid;
  first_day int := public.tool_call_day(p_from);
  last_day int := public.tool_call_day(p_to);
  low int;
  high int;
  width int := 1;
  a bigint[];
  b bigint[];
  c bigint[];
  found uuid[];
BEGIN
  ids := '{}';
  IF first_day IS NULL OR last_day IS NULL THEN RETURN; END IF;
  LOOP
    IF first_day > last_day THEN RETURN; END IF;
    low := CASE WHEN p_newest_first THEN greatest(first_day, last_day - width + 1) ELSE first_day END;
    high := CASE WHEN p_newest_first THEN last_day ELSE least(last_day, first_day + width - 1) END;
    SELECT array_agg(public.tool_call_key(seed, p_contents[1])), array_agg(public.tool_call_key(seed, coalesce(p_contents[2], p_contents[1]))),
           array_agg(public.tool_call_key(seed, coalesce(p_contents[3], p_contents[1]))) INTO a, b, c
      FROM generate_series(low, high) AS day CROSS JOIN public.tool_call_seed(ws, day) AS seed;
    -- IS TRUE: these conditions are to be checked on rows, not to bring in other indexes.
    IF p_error THEN
      found := ARRAY(SELECT t.id FROM public.tool_call t WHERE t.error IS NOT NULL
        AND public.tool_call_word_keys(t.workspace_id, t.id, t.error) && a AND public.tool_call_word_keys(t.workspace_id, t.id, t.error) && b
        AND public.tool_call_word_keys(t.workspace_id, t.id, t.error) && c
        AND (t.workspace_id = ws AND t.id >= p_from AND t.id <= p_to) IS TRUE LIMIT p_most + 1 - cardinality(ids));
    ELSE
      found := ARRAY(SELECT t.id FROM public.tool_call t
       WHERE t.status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running')
         AND t.argument_keys && a AND t.argument_keys && b AND t.argument_keys && c
         AND (t.workspace_id = ws AND t.id >= p_from AND t.id <= p_to) IS TRUE LIMIT p_most + 1 - cardinality(ids));
    END IF;
    IF cardinality(ids) + cardinality(found) > p_most THEN
      reach := CASE WHEN p_newest_first THEN public.tool_call_day_start(last_day + 1) ELSE public.tool_call_day_start(first_day) END;
      RETURN;
    END IF;
    ids := ids || found;
    IF p_newest_first THEN last_day := low - 1; ELSE first_day := high + 1; END IF;
    width := width * 2;
  END LOOP;
END $$;

DO $$
DECLARE f regprocedure;
BEGIN
  FOREACH f IN ARRAY ARRAY['tool_call_seed(uuid,int)', 'tool_call_key(bigint,text)', 'tool_call_day(uuid)', 'tool_call_day_start(int)', 'tool_call_words(text)',
                           'tool_call_word_keys(uuid,uuid,jsonb)', 'tool_call_search(boolean,text[],uuid,uuid,boolean,int)']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO nightshift_owner', f);
  END LOOP;
END $$;
REVOKE ALL ON FUNCTION tool_call_search(boolean, text[], uuid, uuid, boolean, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tool_call_search(boolean, text[], uuid, uuid, boolean, int) TO nightshift_api;
