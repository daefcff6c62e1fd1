import type { ToolEffect, ToolSort } from './tool.js';

/** A call that is settled: nothing but a recorded decision on an `interrupted` one changes it any more. */
export type SettledStatus = 'completed' | 'error' | 'timed_out' | 'skipped' | 'denied' | 'cancelled' | 'interrupted';

/** Every status a tool call can have. */
export type ToolCallStatus = 'pending' | 'awaiting_approval' | 'awaiting_client' | 'running' | SettledStatus;

/** Where a call failed: its arguments, who had to allow it, inside the tool, or by its time limit. */
export type ToolErrorPhase = 'validation' | 'approval' | 'execution' | 'timeout';

/** Why a call has no result. `message` is exactly what the model reads. */
export interface ToolFailure {
  readonly phase: ToolErrorPhase;
  readonly message: string;
  /** `tool_unavailable`: the tool was there when the model requested the call, and is gone. `hook_…`: a hook of a plugin decided. */
  readonly code?: 'tool_unavailable' | 'hook_denied' | 'hook_failed' | undefined;
  /** The true reason, for those who may read the policy; neither the model nor a viewer is shown it. */
  readonly reason?: string;
  /** The whole job fails with this code, as its policy requires. */
  readonly failJob?: string;
}

/** How a call ended, before it is written to the ledger. */
export type Settlement =
  | {
      readonly status: 'completed';
      readonly result: string;
      /** UTF-8 bytes of the whole result, where `result` is a cut of it. */
      readonly resultBytes?: number;
      /** The whole result, where `result` is a preview of it; kept beside the ledger. */
      readonly whole?: string;
    }
  | { readonly status: Exclude<SettledStatus, 'completed'>; readonly failure: ToolFailure };

/** One call as the ledger knows it. `result` is the durable text of a completed call. */
export interface LedgerCall {
  readonly round: number;
  /** 1, 2, 3 … in the order in which the model asked. */
  readonly ordinal: number;
  /** The id the model knows the call by; unique within its job. */
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

/** How a call came to run or not, as far as it differs from "at once, in the worker". */
export interface CallState {
  /** The ledger row's id. */
  readonly id: string;
  readonly executor: CallExecutor;
  /** Whose tool it is a call of. */
  readonly runtime: ToolSort;
  readonly approval: Approval | null;
  /** Fingerprint of the tool it is a call of; null: none was kept. */
  readonly toolVersion: string | null;
  /** The arguments that an approver approved; null: no approval was requested. */
  readonly approvedArguments: string | null;
  /** Members of these arguments that the request did not show; null: no approval was requested. */
  readonly sensitiveFields: readonly string[] | null;
  readonly decidedBy: string | null;
  /** When it was last started, ms since the epoch. */
  readonly startedAt: number | null;
  /** How often it was started: in a worker, or in the isolated queue since it was last sent. Absent: never. */
  readonly attempts?: number;
  /** The tool process that last had it; null: none. */
  readonly worker: string | null;
  /** The people who could decide, according to the request. */
  readonly terms: {
    readonly decidableBy: 'requester' | 'approvers' | 'members';
    readonly fourEyes: boolean;
    readonly adminRequired: boolean;
  } | null;
  /** The request about this call that is open now. */
  readonly interruptId: string | null;
  /** For a call with an unknown outcome: a person has decided to leave it unknown. */
  readonly isReported: boolean;
}

/** Where a call runs: in its job's worker, a process of the isolated queue, a client, or a job of its own. */
export type CallExecutor = 'worker' | 'queue' | 'client' | 'job';

/** Who let a call run, or did not. */
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

/** Whether the call still has to end. */
export function isOpen(status: ToolCallStatus): status is Exclude<ToolCallStatus, SettledStatus> {
  return OPEN.has(status);
}
