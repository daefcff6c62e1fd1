import type { ToolEffect, ToolSort } from './tool.js';

/** The status of a settled call. Only a recorded decision changes it again, and only for `interrupted`. */
export type SettledStatus = 'completed' | 'error' | 'timed_out' | 'skipped' | 'denied' | 'cancelled' | 'interrupted';

/** Every status a tool call can have. */
export type ToolCallStatus = 'pending' | 'awaiting_approval' | 'awaiting_client' | 'running' | SettledStatus;

/** Where a call failed: in its arguments, in its approval, inside the tool, or by its timeout. */
export type ToolErrorPhase = 'validation' | 'approval' | 'execution' | 'timeout';

/** Why a call has no result. The model reads `message` unchanged. */
export interface ToolFailure {
  readonly phase: ToolErrorPhase;
  readonly message: string;
  /** `tool_unavailable`: the tool existed when the model requested the call, and no longer exists. `hook_…`: a hook of a plugin decided. */
  readonly code?: 'tool_unavailable' | 'hook_denied' | 'hook_failed' | undefined;
  /** The actual reason, for principals that may read the policy. Neither the model nor a viewer sees it. */
  readonly reason?: string;
  /** The policy (`expireAction`) fails the job with this code. */
  readonly failJob?: string;
}

/** How a call ended, before it is stored in the ledger. */
export type Settlement =
  | {
      readonly status: 'completed';
      readonly result: string;
      /** Size of the complete result in UTF-8 bytes, if `result` is truncated. */
      readonly resultBytes?: number;
      /** The complete result, if `result` is a preview of it; stored outside of the ledger. */
      readonly whole?: string;
    }
  | { readonly status: Exclude<SettledStatus, 'completed'>; readonly failure: ToolFailure };

/** A call of the ledger. `result` is the durable text of a completed call. */
export interface LedgerCall {
  readonly round: number;
  /** 1, 2, 3 … in the order of the model's requests. */
  readonly ordinal: number;
  /** The call id that the model uses, unique within the job. */
  readonly callId: string;
  readonly name: string;
  /** JSON text as the model wrote it, or a placeholder for arguments that were too large to store. */
  readonly arguments: string;
  readonly effect: ToolEffect;
  readonly status: ToolCallStatus;
  readonly result: string | null;
  readonly error: ToolFailure | null;
  /** Absent or null for a settled call that needed no decision. */
  readonly state?: CallState | null;
}

/** How and where a call was started, if not at once by the worker. */
export interface CallState {
  /** The id of the ledger row. */
  readonly id: string;
  readonly executor: CallExecutor;
  /** The kind of its tool. */
  readonly runtime: ToolSort;
  readonly approval: Approval | null;
  /** The fingerprint of its tool; null: none was stored. */
  readonly toolVersion: string | null;
  /** The arguments that an approver approved; null: no approval was requested. */
  readonly approvedArguments: string | null;
  /** Fields of these arguments that the request did not show; null: no approval was requested. */
  readonly sensitiveFields: readonly string[] | null;
  readonly decidedBy: string | null;
  /** The time of the last start, in ms since the epoch. */
  readonly startedAt: number | null;
  /** The number of starts: in a worker, or in the tool queue since it was last sent. Absent: never. */
  readonly attempts?: number;
  /** The tool process that last claimed it; null: none. */
  readonly worker: string | null;
  /** Who could decide, according to the request. */
  readonly decisionRules: {
    readonly decidableBy: 'requester' | 'approvers' | 'members';
    readonly fourEyes: boolean;
    readonly adminRequired: boolean;
  } | null;
  /** The open request about this call. */
  readonly interruptId: string | null;
  /** Whether a person decided to leave an unknown outcome unknown. */
  readonly isReported: boolean;
}

/** Where a call runs: in its job's worker, in a process of the tool queue, in a client, or as a sub-job. */
export type CallExecutor = 'worker' | 'queue' | 'client' | 'job';

/** How a call was allowed or rejected. */
export type Approval = 'policy' | 'person' | 'grant' | 'denied' | 'expired' | 'blocked' | 'withdrawn';

/** Every status, in the order of a call's life. */
export const toolCallStatuses: readonly ToolCallStatus[] = [
  'pending',
  'awaiting_approval',
  'awaiting_client',
  'running',
  'completed',
  'error',
  'timed_out',
  'skipped',
  'denied',
  'cancelled',
  'interrupted',
];

const OPEN: ReadonlySet<ToolCallStatus> = new Set(['pending', 'awaiting_approval', 'awaiting_client', 'running']);

/** Whether the call has not ended. */
export function isOpen(status: ToolCallStatus): status is Exclude<ToolCallStatus, SettledStatus> {
  return OPEN.has(status);
}
