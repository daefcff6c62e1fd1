import { type CommitPart, type PartRow, partRow } from '#jobs';
import { violatedConstraint } from '#platform';

type Row = readonly [workspaceId: string, jobId: string, toolCallId: string];

const executedCalls: CommitPart<Row> = {
  name: 'executed_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['tool_call_id', 'uuid'],
  ],
  sql: (rows) => `INSERT INTO executed_call (workspace_id, tool_call_id, job_id)
  SELECT r.workspace_id, r.tool_call_id, r.job_id FROM ${rows} r RETURNING 1`,
};

/** Marks a call that waits for a client: a job runs it instead. A call can be marked once. */
export function executedCallRow(
  job: { readonly workspaceId: string; readonly jobId: string },
  toolCallId: string,
): PartRow {
  return partRow(executedCalls, [job.workspaceId, job.jobId, toolCallId]);
}

/** Whether a write failed because the call was already marked. */
export function isExecutedBefore(error: unknown): boolean {
  return violatedConstraint(error) === 'executed_call_pkey';
}
