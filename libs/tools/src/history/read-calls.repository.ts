import type { SqlClient } from '#platform';

import { RESULT_BYTES } from '../project-result.js';
import type { Statement } from './statement.js';
import { type ToolCallRecord, type ToolCallRecordRow, toToolCallRecord } from './tool-call-record.js';

const columns = `t.id, t.job_id AS "jobId", t.thread_id AS "threadId", t.workflow_id AS "workflowId", t.created_by AS "createdBy",
  t.round, t.ordinal, t.call_id AS "callId", t.name, t.arguments, t.effect, t.runtime, t.executor, t.tool_version AS "toolVersion",
  t.status, t.approval, t.decided_by AS "decidedBy", t.decision_id AS "decisionId", left(t.result, ${RESULT_BYTES.ui + 1}) AS result,
  t.result_bytes AS "resultBytes", t.duration_ms AS "durationMs", t.error, t.created_at AS "createdAt",
  t.started_at AS "startedAt", t.finished_at AS "finishedAt"`;

/** The calls that `hits` names, in this order; `hits` gives an `id` and whatever the order goes by. */
export async function readCalls(
  client: SqlClient,
  { hits, order, workspaceId }: { readonly hits: string; readonly order: string; readonly workspaceId: string },
  { bind, values }: Statement,
): Promise<ToolCallRecord[]> {
  const { rows } = await client.query<ToolCallRecordRow>(
    `SELECT ${columns} FROM (${hits}) hit JOIN tool_call t ON t.workspace_id = ${bind(workspaceId, 'uuid')} AND t.id = hit.id ${order}`,
    values,
  );
  return rows.map(toToolCallRecord);
}
