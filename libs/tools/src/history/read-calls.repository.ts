import type { PrismaTransaction } from '#platform';

import { RESULT_BYTES } from '../project-result.js';
import type { Statement } from './statement.js';
import { type ToolCallRecord, type ToolCallRecordRow, toToolCallRecord } from './tool-call-record.js';

const columns = `t.id, t.job_id AS "jobId", t.thread_id AS "threadId", t.workflow_id AS "workflowId", t.created_by AS "createdBy",
  t.round, t.ordinal, t.call_id AS "callId", t.name, t.arguments, t.approved_arguments AS "approvedArguments",
  t.executed_arguments AS "executedArguments", t.effect, t.runtime, t.executor, t.tool_version AS "toolVersion",
  t.status, t.approval, t.decided_by AS "decidedBy", t.decision_id AS "decisionId", t.result_bytes AS "resultBytes", t.duration_ms AS "durationMs", t.error, t.created_at AS "createdAt",
  t.started_at AS "startedAt", t.finished_at AS "finishedAt"`;
/** At least one byte more than the display size, so that the caller can mark the text as truncated. */
const shownResult = `left(t.result, ${RESULT_BYTES.ui + 1}) AS result`;

/** The calls to read, and their order. */
export interface WantedCalls {
  readonly workspaceId: string;
  /** SQL that gives an `id` and the columns of the sort order. */
  readonly hits: string;
  /** The order of `hit`. */
  readonly order: string;
  readonly isWhole?: boolean | undefined;
}

/** Reads calls as records. */
export async function readCalls(
  tx: PrismaTransaction,
  wanted: WantedCalls,
  statement: Statement,
): Promise<ToolCallRecord[]> {
  const { workspaceId, hits, order, isWhole = false } = wanted;
  const rows = await tx.$queryRawUnsafe<ToolCallRecordRow[]>(
    `SELECT ${columns}, ${isWhole ? 't.result' : shownResult} FROM (${hits}) hit
       JOIN tool_call t ON t.workspace_id = ${statement.bind(workspaceId, 'uuid')} AND t.id = hit.id ${order}`,
    ...statement.values,
  );
  return rows.map(toToolCallRecord);
}
