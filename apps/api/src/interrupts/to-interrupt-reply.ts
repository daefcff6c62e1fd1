import type { Interrupt } from '#jobs';

/** A request in the REST format. A field is absent if the request has no call or node, or is not decided yet. */
export interface InterruptReply {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly jobId: string;
  readonly rootJobId: string;
  /** The id of the thread that the client chose, else the server id. */
  readonly threadId: string | null;
  readonly callId?: string;
  readonly nodeId?: string;
  readonly path: readonly string[];
  readonly title: string;
  readonly request: Interrupt['request'];
  readonly decidableBy: Interrupt['decidableBy'];
  readonly fourEyes: boolean;
  readonly adminRequired: boolean;
  /** Ms since the epoch, like all instants here. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly outcome?: string;
  readonly decidedBy?: string;
  readonly decidedAt?: number;
}

/** `threadNames`: the names that clients gave to threads, by our id; a thread without one is shown by our id. */
export function toInterruptReply(interrupt: Interrupt, threadNames: ReadonlyMap<string, string>): InterruptReply {
  const { id, kind, status, jobId, rootJobId, threadId, callId, nodeId, path, title, request } = interrupt;
  const { decidableBy, fourEyes, adminRequired, createdAt, expiresAt, outcome, decidedBy, decidedAt } = interrupt;
  return {
    ...{ id, kind, status, jobId, rootJobId },
    threadId: threadId === null ? null : (threadNames.get(threadId) ?? threadId),
    ...(callId === null ? {} : { callId }),
    ...(nodeId === null ? {} : { nodeId }),
    ...{ path, title, request, decidableBy, fourEyes, adminRequired, createdAt, expiresAt },
    ...(outcome === null ? {} : { outcome: outcome.outcome }),
    ...(decidedBy === null ? {} : { decidedBy }),
    ...(decidedAt === null ? {} : { decidedAt }),
  };
}
