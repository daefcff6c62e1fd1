import type { ToolCallRow } from '#platform';

import { runArguments } from '../run-arguments.js';

/** Columns that the record contains unchanged. */
type SameColumn =
  | ('id' | 'jobId' | 'threadId' | 'workflowId' | 'createdBy' | 'round' | 'ordinal' | 'callId' | 'name' | 'arguments')
  | ('approvedArguments' | 'executedArguments')
  | ('effect' | 'runtime' | 'executor' | 'toolVersion' | 'status' | 'approval' | 'decidedBy' | 'decisionId')
  | ('result' | 'resultBytes' | 'durationMs');

/** The columns that a record is made from. */
export type ToolCallRecordRow = Pick<ToolCallRow, SameColumn | 'error' | 'createdAt' | 'startedAt' | 'finishedAt'>;

/** Why a call has no result. `reason` is the actual reason if the model read another text; only callers who may read the policy see it. */
export interface RecordedFailure {
  readonly phase: string | null;
  readonly code: string | null;
  readonly message: string;
  readonly reason: string | null;
}

/**
 * A row of the ledger of tool calls, for readers. Instants are in ms since the epoch. `createdBy`: the user who started the job; `arguments`:
 * the arguments that the call ran or will run with; `proposedArguments`: the model's arguments, if a person edited them; `executedArguments`:
 * null if they equal the approved arguments, or else the proposed ones; `approval`: how the call was allowed or rejected, null if no decision
 * was needed; `decidedBy`: the principal who decided; `decisionId`: the interrupt with the decision; `resultBytes`: the size of the complete
 * result, of which `result` may be a part.
 */
export interface ToolCallRecord extends Readonly<Pick<ToolCallRow, SameColumn>> {
  readonly proposedArguments: string | null;
  readonly error: RecordedFailure | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** Approximate size of the texts of calls, in bytes. A call has at most 450 KB of texts, so checking the size after the read is early enough. */
export function sizeOf(rows: readonly ToolCallRecordRow[]): number {
  const texts = rows.flatMap((row) => [row.arguments, row.approvedArguments, row.executedArguments, row.result]);
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** Maps a row to the public record. */
export function toToolCallRecord(row: ToolCallRecordRow): ToolCallRecord {
  const { id, jobId, threadId, workflowId, createdBy, round, ordinal, callId, name } = row;
  const { effect, runtime, executor, toolVersion, status, approval, decidedBy, decisionId } = row;
  const { result, resultBytes, durationMs, approvedArguments, executedArguments } = row;
  return {
    ...{ id, jobId, threadId, workflowId, createdBy, round, ordinal, callId, name },
    ...runArguments({ arguments: row.arguments, approvedArguments: executedArguments ?? approvedArguments }),
    ...{ effect, runtime, executor, toolVersion, status, approval, decidedBy, decisionId },
    ...{ result, resultBytes, durationMs, approvedArguments, executedArguments },
    error: toFailure(row.error),
    createdAt: row.createdAt.getTime(),
    startedAt: row.startedAt?.getTime() ?? null,
    finishedAt: row.finishedAt?.getTime() ?? null,
  };
}

function toFailure(value: unknown): RecordedFailure | null {
  if (typeof value !== 'object' || value === null || !('message' in value)) return null;
  const text = (member: unknown) => (typeof member === 'string' ? member : null);
  return {
    phase: text('phase' in value ? value.phase : null),
    code: text('code' in value ? value.code : null),
    message: String(value.message),
    reason: text('reason' in value ? value.reason : null),
  };
}
