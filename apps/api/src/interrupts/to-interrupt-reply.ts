import type { Interrupt } from '#jobs';

/** A request as REST shows it. What it is not about, and what has not happened yet, is left out. */
export interface InterruptReply {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly jobId: string;
  readonly rootJobId: string;
  /** As the starter of the job names it. */
  readonly threadId: string | null;
  readonly callId?: string;
  readonly nodeId?: string;
  readonly path: readonly string[];
  readonly title: string;
  readonly request: Interrupt['request'];
  readonly decidableBy: Interrupt['decidableBy'];
  readonly fourEyes: boolean;
  readonly adminRequired: boolean;
  /** Ms since the epoch, as all instants here. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly outcome?: string;
  readonly decidedBy?: string;
  readonly decidedAt?: number;
}

/** `threadNames`: what the threads are called by those who made them; the others go by our id. */
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
