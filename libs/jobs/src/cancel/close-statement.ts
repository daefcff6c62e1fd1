import { Prisma } from '#platform';

import type { JobRef } from '../job.js';
import { mayHaveRun, stoppedCall, unknownOutcome } from '../unknown-outcome.js';

/** The arguments that a call runs with, as JSON text. */
const runArguments = Prisma.sql`coalesce(executed_arguments, approved_arguments, arguments)`;

/**
 * Whether a person changed the arguments of a call, and not only their notation, which an approval normalizes. A text that `jsonb`
 * rejects (a NUL, half a surrogate pair, JSON that the model broke off) is compared as text.
 */
const isEdited = Prisma.sql`CASE WHEN ${runArguments} = arguments THEN false
    WHEN pg_input_is_valid(${runArguments}, 'jsonb') AND pg_input_is_valid(arguments, 'jsonb') THEN ${runArguments}::jsonb <> arguments::jsonb
    ELSE true END`;

/** Closes the open calls, requests and node runs of a locked job and logs how each ended. The caller appends `job-finished` after it. */
export const closing = ({ workspaceId, jobId }: JobRef) => Prisma.sql`
WITH closed_call AS (
  UPDATE tool_call t SET status = CASE WHEN ${mayHaveRun} THEN 'interrupted' ELSE 'cancelled' END,
         error = CASE WHEN ${mayHaveRun} THEN ${JSON.stringify(unknownOutcome)}::jsonb ELSE ${JSON.stringify(stoppedCall)}::jsonb END,
         finished_at = clock_timestamp()
   WHERE t.workspace_id = ${workspaceId}::uuid AND t.job_id = ${jobId}::uuid
     AND t.status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running')
  RETURNING round, ordinal, jsonb_build_object('round', round, 'internalStatus', status, 'call', jsonb_build_object(
    'id', call_id, 'name', name, 'status', CASE status WHEN 'interrupted' THEN 'error' ELSE 'skipped' END,
    'args', ${runArguments}, 'error', error->>'message')
      || CASE WHEN ${isEdited} THEN jsonb_build_object('proposedArgs', arguments) ELSE '{}' END) AS body),
closed_interrupt AS (
  UPDATE interrupt SET status = 'cancelled', outcome = '{"outcome":"cancelled"}', decided_at = clock_timestamp(),
         remind_at = NULL, claim_until = NULL
   WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid AND status = 'open'
  RETURNING id, jsonb_build_object('interruptId', id, 'outcome', 'cancelled',
    'decidedAt', round(extract(epoch FROM decided_at) * 1000)) AS body),
closed_node AS (
  UPDATE node_run n SET status = 'cancelled', handles = '{}', finished_at = clock_timestamp(),
         (prompt_tokens, completion_tokens) = (SELECT coalesce(sum(r.prompt_tokens), 0), coalesce(sum(r.completion_tokens), 0)
            FROM round r WHERE r.workspace_id = n.workspace_id AND r.job_id = n.job_id AND r.node_run = n.ordinal)
   WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid AND n.status IN ('pending', 'active', 'waiting')
  RETURNING ordinal, jsonb_strip_nulls(jsonb_build_object('nodeRunId', job_id || ':' || ordinal, 'nodeId', node_id,
    'label', label, 'type', type, 'path', coalesce(path, '{}'), 'iteration', iteration[cardinality(iteration)], 'status', status,
    'output', '', 'tokenCount', nullif(prompt_tokens + completion_tokens, 0))) AS body),
event AS (
  SELECT row_number() OVER (ORDER BY round, ordinal) AS ordinal, 'tool-call-updated' AS type, body FROM closed_call
  UNION ALL
  SELECT (SELECT count(*) FROM closed_call) + row_number() OVER (ORDER BY id), 'interrupt-resolved', body FROM closed_interrupt
  UNION ALL
  SELECT (SELECT count(*) FROM closed_call) + (SELECT count(*) FROM closed_interrupt) + row_number() OVER (ORDER BY ordinal DESC),
         'node-finished', body FROM closed_node),
up AS (
  UPDATE job SET last_seq = last_seq + (SELECT count(*)::int FROM event)
   WHERE workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid RETURNING workspace_id, id, last_seq, lease_epoch, restarts),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
  SELECT up.workspace_id, up.id, up.last_seq - (SELECT count(*) FROM event) + event.ordinal, up.lease_epoch, up.restarts,
         event.type, event.body, clock_timestamp()
    FROM up, event)
SELECT last_seq AS "lastSeq" FROM up`;
