import type { Interrupt } from '../interrupt.js';

/** A row as Prisma or the driver returns it. */
export interface StoredInterrupt extends Omit<
  Interrupt,
  | 'kind'
  | 'status'
  | 'request'
  | 'outcome'
  | 'decidableBy'
  | 'expireAction'
  | 'rootJobId'
  | 'createdAt'
  | 'decidedAt'
  | 'expiresAt'
> {
  readonly kind: string;
  readonly status: string;
  readonly request: unknown;
  readonly outcome: unknown;
  readonly decidableBy: string;
  readonly expireAction: string;
  readonly rootJobId: string | null;
  readonly createdAt: Date;
  readonly decidedAt: Date | null;
  readonly expiresAt: Date | null;
}

/** Converts a row. The casts hold: check constraints allow only the values of the types, and only `NewInterrupt`s are stored. */
export function toInterrupt(row: StoredInterrupt): Interrupt {
  return {
    workspaceId: row.workspaceId,
    id: row.id,
    kind: row.kind as Interrupt['kind'],
    status: row.status as Interrupt['status'],
    jobId: row.jobId,
    rootJobId: row.rootJobId ?? row.jobId,
    threadId: row.threadId,
    toolCallId: row.toolCallId,
    callId: row.callId,
    tool: row.tool,
    nodeId: row.nodeId,
    path: row.path,
    title: row.title,
    request: row.request as Interrupt['request'],
    outcome: row.outcome as Interrupt['outcome'],
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    expiresAt: row.expiresAt?.getTime() ?? null,
    expireAction: row.expireAction as Interrupt['expireAction'],
    requester: row.requester,
    decidableBy: row.decidableBy as Interrupt['decidableBy'],
    fourEyes: row.fourEyes,
    adminRequired: row.adminRequired,
    principal: row.principal,
    deviceId: row.deviceId,
    refused: row.refused,
  };
}
