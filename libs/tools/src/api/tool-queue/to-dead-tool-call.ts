import type { DeadToolCall } from '../../remote/dead-tool-calls.service.js';

/** A dead letter in the format of both APIs. */
export interface DeadToolCallReply {
  readonly id: string;
  readonly reason: DeadToolCall['reason'];
  /** Ms since the epoch. */
  readonly at: number;
  readonly toolCallId: string | null;
  readonly jobId: string | null;
  readonly tool: string | null;
  readonly status: string | null;
  readonly canRedrive: boolean;
}

export function toDeadToolCall({ id, reason, at, call }: DeadToolCall): DeadToolCallReply {
  return {
    ...{ id, reason, at },
    toolCallId: call?.id ?? null,
    jobId: call?.jobId ?? null,
    tool: call?.name ?? null,
    status: call?.status ?? null,
    canRedrive: call?.canRedrive ?? false,
  };
}
