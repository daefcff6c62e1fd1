import { mayHaveRun, stoppedCall, unknownOutcome } from '../unknown-outcome.js';

/** The arguments that a call runs with, as JSON text. */
const runSql = 'coalesce(executed_arguments, approved_arguments, arguments)';

/**
 * Whether a person changed the arguments of a call, and not only their notation, which an approval normalizes. A text that `jsonb`
 * rejects (a NUL, half a surrogate pair, JSON that the model broke off) is compared as text.
 */
const isEditedSql = `CASE WHEN ${runSql} = arguments THEN false
    WHEN pg_input_is_valid(${runSql}, 'jsonb') AND pg_input_is_valid(arguments, 'jsonb') THEN ${runSql}::jsonb <> arguments::jsonb
    ELSE true END`;

/** Closes the open calls, requests and node runs of a locked job and logs how each ended. The caller appends `job-finished` after it. */
export const closeSql = `WITH calls AS (
  UPDATE tool_call t SET status = CASE WHEN ${mayHaveRun} THEN 'interrupted' ELSE 'cancelled' END,
         error = CASE WHEN ${mayHaveRun} THEN '${JSON.stringify(unknownOutcome)}'::jsonb
           ELSE '${JSON.stringify(stoppedCall)}'::jsonb END,
         finished_at = clock_timestamp()
   WHERE t.workspace_id = $1 AND t.job_id = $2
     AND t.status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running')
  RETURNING round, ordinal, jsonb_build_object('round', round, 'internalStatus', status, 'call', jsonb_build_object(
    'id', call_id, 'name', name, 'status', CASE status WHEN 'interrupted' THEN 'error' ELSE 'skipped' END,
    'args', ${runSql}, 'error', error->>'message')
      || CASE WHEN ${isEditedSql} THEN jsonb_build_object('proposedArgs', arguments) ELSE '{}' END) AS body),
asked AS (
  UPDATE interrupt SET status = 'cancelled', outcome = '{"outcome":"cancelled"}', decided_at = clock_timestamp(),
         remind_at = NULL, claim_until = NULL
   WHERE workspace_id = $1 AND job_id = $2 AND status = 'open'
  RETURNING id, jsonb_build_object('interruptId', id, 'outcome', 'cancelled',
    'decidedAt', round(extract(epoch FROM decided_at) * 1000)) AS body),
nodes AS (
  UPDATE node_run n SET status = 'cancelled', handles = '{}', finished_at = clock_timestamp(),
         (prompt_tokens, completion_tokens) = (SELECT coalesce(sum(r.prompt_tokens), 0), coalesce(sum(r.completion_tokens), 0)
            FROM round r WHERE r.workspace_id = n.workspace_id AND r.job_id = n.job_id AND r.node_run = n.ordinal)
   WHERE n.workspace_id = $1 AND n.job_id = $2 AND n.status IN ('pending', 'active', 'waiting')
  RETURNING ordinal, jsonb_strip_nulls(jsonb_build_object('nodeRunId', job_id || ':' || ordinal, 'nodeId', node_id,
    'label', label, 'type', type, 'path', coalesce(path, '{}'), 'iteration', iteration[cardinality(iteration)], 'status', status,
    'output', '', 'tokenCount', nullif(prompt_tokens + completion_tokens, 0))) AS body),
updates AS (
  SELECT row_number() OVER (ORDER BY round, ordinal) AS o, 'tool-call-updated' AS type, body FROM calls
  UNION ALL
  SELECT (SELECT count(*) FROM calls) + row_number() OVER (ORDER BY id), 'interrupt-resolved', body FROM asked
  UNION ALL
  SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM asked) + row_number() OVER (ORDER BY ordinal DESC),
         'node-finished', body FROM nodes),
up AS (
  UPDATE job SET last_seq = last_seq + (SELECT count(*)::int FROM updates)
   WHERE workspace_id = $1 AND id = $2 RETURNING workspace_id, id, last_seq, lease_epoch, restarts),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
  SELECT up.workspace_id, up.id, up.last_seq - (SELECT count(*) FROM updates) + updates.o, up.lease_epoch, up.restarts, updates.type,
         updates.body, clock_timestamp()
    FROM up, updates)
SELECT last_seq AS "lastSeq" FROM up`;
