import type { ToolCallRow } from '#platform';

import { runArguments } from '../run-arguments.js';

/** Columns that a record has as they are. */
type SameColumn =
  | ('id' | 'jobId' | 'threadId' | 'workflowId' | 'createdBy' | 'round' | 'ordinal' | 'callId' | 'name' | 'arguments')
  | ('approvedArguments' | 'executedArguments')
  | ('effect' | 'runtime' | 'executor' | 'toolVersion' | 'status' | 'approval' | 'decidedBy' | 'decisionId')
  | ('result' | 'resultBytes' | 'durationMs');

/** What a record is made of. */
export type ToolCallRecordRow = Pick<ToolCallRow, SameColumn | 'error' | 'createdAt' | 'startedAt' | 'finishedAt'>;

/** Why a call has no result. `reason` is the true one, where the model read another: only for those who may read the policy. */
export interface RecordedFailure {
  readonly phase: string | null;
  readonly code: string | null;
  readonly message: string;
  readonly reason: string | null;
}

/**
 * A row of the ledger of tool calls, for readers. Instants in ms since the epoch. `createdBy`: the user whose job asked for
 * it; `arguments`: what it was run with, or is going to be; `proposedArguments`: the model's, where a person made something else
 * of them; `executedArguments`: null also where those were run that were approved, or else proposed; `approval`: how it came to run or not, null when no person decided; `decidedBy`: the principal who decided;
 * `decisionId`: the interrupt that was decided; `resultBytes`: of the whole result, of which `result` may be a part.
 */
export interface ToolCallRecord extends Readonly<Pick<ToolCallRow, SameColumn>> {
  readonly proposedArguments: string | null;
  readonly error: RecordedFailure | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
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
