import { Injectable } from '@nestjs/common';

import { firstIdAt, type InterruptRow, Prisma, PrismaService, type PrismaTransaction, type Scope } from '#platform';

import { decidableKinds, type Interrupt, type Outcome } from '../interrupt.js';
import type { KeysetPage } from '../jobs.repository.js';

/** Filters a list of requests; all given members must match. Instants in ms since the epoch. */
export interface InterruptFilter {
  readonly statuses?: readonly string[];
  readonly kinds?: readonly string[];
  readonly tool?: string;
  readonly jobId?: string;
  /** For a root job: its requests and those of its descendants. For another job: only its own. */
  readonly rootJobId?: string;
  readonly threadId?: string;
  /** Requests of jobs that this user started. */
  readonly requester?: string;
  readonly decidableBy?: readonly string[];
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  /** Only requests that a principal with these rights may decide. */
  readonly decider?: DeciderRights;
}

/** The requests that a principal may decide, as a filter for lists. The rule itself is part of the ability. */
export interface DeciderRights {
  /** Null for a principal that is not a person; it may decide nothing. */
  readonly userId: string | null;
  /** `own`: requests of jobs that it started. */
  readonly approves: 'any' | 'own' | 'none';
  /** Which jobs it may change. It may decide a request that is decidable by `members` only if it may change the job. */
  readonly changes: 'any' | 'own' | 'none';
}

/** An open request of a descendant. */
export type SubJobInterrupt = Pick<Interrupt, 'id' | 'kind'>;

/** Requests to people and clients. Lists take a Scope; `settle` requires the lock of the job's row. */
@Injectable()
export class InterruptsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns null if the request is absent, or the scope does not cover its job. */
  async findInScope(scope: Scope, id: string): Promise<Interrupt | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const row = await tx.interrupt.findFirst({ where: { AND: [readable(scope), { id }] } });
      return row === null ? null : toInterrupt(row);
    });
  }

  /** Newest first (or oldest, with `reverse`). Returns one more than `limit` if there is a next page. */
  async listInScope(scope: Scope, filter: InterruptFilter, page: KeysetPage): Promise<Interrupt[]> {
    const beyond =
      page.after === undefined ? {} : { id: page.reverse === true ? { gt: page.after } : { lt: page.after } };
    const direction = page.reverse === true ? 'asc' : 'desc';
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.interrupt.findMany({
        where: { AND: [readable(scope), toWhere(filter), beyond] },
        orderBy: [{ workspaceId: direction }, { id: direction }],
        take: page.limit + 1,
      });
      return rows.map(toInterrupt);
    });
  }

  countInScope(scope: Scope, filter: InterruptFilter): Promise<number> {
    return this.prisma.withWorkspace(scope, (tx) =>
      tx.interrupt.count({ where: { AND: [readable(scope), toWhere(filter)] } }),
    );
  }

  /** The requests with these ids that match the filter, oldest first. Skips absent and forbidden ids. */
  findManyInScope(scope: Scope, ids: readonly string[], filter: InterruptFilter = {}): Promise<Interrupt[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.interrupt.findMany({
        where: { AND: [readable(scope), toWhere(filter), { id: { in: [...ids] } }] },
        orderBy: { id: 'asc' },
      });
      return rows.map(toInterrupt);
    });
  }

  /** Open requests of these jobs, oldest first, at most 100 times the number of jobs. */
  openOfJobsInScope(scope: Scope, jobIds: readonly string[]): Promise<Interrupt[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.interrupt.findMany({
        where: { AND: [readable(scope), { jobId: { in: [...jobIds] }, status: 'open' }] },
        orderBy: { id: 'asc' },
        take: 100 * jobIds.length,
      });
      return rows.map(toInterrupt);
    });
  }

  /** Ids of the newest `limit` open requests of a workspace. Does not check rights. */
  async openIds(workspaceId: string, limit: number): Promise<string[]> {
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.interrupt.findMany({
        where: { workspaceId, status: 'open' },
        orderBy: { id: 'desc' },
        take: limit,
        select: { id: true },
      }),
    );
    return rows.map(({ id }) => id);
  }

  /** The oldest `limit` open requests of the job's descendants, oldest first. Does not check rights. */
  openOfSubJobs(workspaceId: string, rootJobId: string, limit: number): Promise<SubJobInterrupt[]> {
    return this.prisma.queryInWorkspace<SubJobInterrupt>(
      { workspaceId },
      Prisma.sql`SELECT id, kind FROM interrupt
        WHERE workspace_id = ${workspaceId}::uuid AND root_job_id = ${rootJobId}::uuid AND status = 'open' ORDER BY id LIMIT ${limit}`,
    );
  }

  /** The current state, read in the transaction that locks the job. */
  async read(tx: PrismaTransaction, workspaceId: string, id: string): Promise<Interrupt | null> {
    const row = await tx.interrupt.findUnique({ where: { workspaceId_id: { workspaceId, id } } });
    return row === null ? null : toInterrupt(row);
  }

  /** The open request about a call, if there is one. */
  async openOfCall(tx: PrismaTransaction, workspaceId: string, toolCallId: string): Promise<Interrupt | null> {
    const row = await tx.interrupt.findFirst({ where: { workspaceId, toolCallId, status: 'open' } });
    return row === null ? null : toInterrupt(row);
  }

  /** The open requests of a job, oldest first. */
  async openOfJob(
    tx: PrismaTransaction,
    { workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string },
  ): Promise<Interrupt[]> {
    const rows = await tx.interrupt.findMany({
      where: { workspaceId, jobId, status: 'open' },
      orderBy: { id: 'asc' },
    });
    return rows.map(toInterrupt);
  }

  /** Returns the instant of the settlement, ms since the epoch, by the database's clock; null: the request was not open. */
  async settle(
    tx: PrismaTransaction,
    { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
    end: {
      readonly status: 'resolved' | 'expired' | 'cancelled';
      readonly outcome: Outcome;
      readonly by: string | null;
    },
  ): Promise<number | null> {
    const [settled] = await tx.$queryRaw<{ decidedAt: Date }[]>`
      UPDATE interrupt SET status = ${end.status}, outcome = ${JSON.stringify(end.outcome)}::jsonb, decided_by = ${end.by},
             decided_at = clock_timestamp(), remind_at = NULL, claim_until = NULL
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' RETURNING decided_at AS "decidedAt"`;
    return settled?.decidedAt.getTime() ?? null;
  }

  /** Whether the job still has an open request, or a call that runs outside its worker. */
  async isAnythingOpen(
    tx: PrismaTransaction,
    { workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string },
  ): Promise<boolean> {
    const interrupts = await tx.interrupt.count({ where: { workspaceId, jobId, status: 'open' } });
    if (interrupts > 0) return true;
    const executor = { in: ['queue', 'client', 'job'] };
    return (await tx.toolCall.count({ where: { workspaceId, jobId, status: 'running', executor } })) > 0;
  }

  /** Sets the next reminder to a day from now. False if another worker did, or the request is not open. */
  async remindLater(
    tx: PrismaTransaction,
    { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  ): Promise<boolean> {
    const moved = await tx.$executeRaw`
      UPDATE interrupt SET remind_at = clock_timestamp() + interval '1 day'
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND remind_at < clock_timestamp()`;
    return moved === 1;
  }
}

/** A caller sees a request only if it may read the request and its job. */
function readable(scope: Scope): Prisma.InterruptWhereInput {
  return { AND: [scope.where('Interrupt')], workspaceId: scope.workspaceId, job: scope.where('Job') };
}

function toWhere(filter: InterruptFilter): Prisma.InterruptWhereInput {
  const { statuses, kinds, decidableBy, createdAfter, createdBefore, decider, rootJobId, ...equal } = filter;
  return {
    ...equal,
    ...(statuses === undefined ? {} : { status: { in: [...statuses] } }),
    ...(kinds === undefined ? {} : { kind: { in: [...kinds] } }),
    ...(decidableBy === undefined ? {} : { decidableBy: { in: [...decidableBy] } }),
    AND: [
      ...(createdAfter === undefined ? [] : [{ id: { gte: firstIdAt(createdAfter) } }]),
      ...(createdBefore === undefined ? [] : [{ id: { lt: firstIdAt(createdBefore) } }]),
      ...(decider === undefined ? [] : [decidableWith(decider)]),
      // The root job's own requests have no `rootJobId`.
      ...(rootJobId === undefined ? [] : [{ OR: [{ jobId: rootJobId }, { rootJobId }] }]),
    ],
  };
}

/** The rule of `mayDecide` in the approvals lib, as a filter; a spec compares the two. */
function decidableWith({ userId, approves, changes }: DeciderRights): Prisma.InterruptWhereInput {
  const own = { requester: userId };
  const filters: Prisma.InterruptWhereInput[] = [];
  if (approves === 'any') {
    filters.push({ adminRequired: true }, { decidableBy: 'approvers' }, { decidableBy: 'requester', requester: null });
  }
  if (approves !== 'none') filters.push({ ...own, decidableBy: 'requester', adminRequired: false });
  if (changes === 'own') filters.push({ ...own, decidableBy: 'members', adminRequired: false });
  if (changes === 'any') filters.push({ decidableBy: 'members', adminRequired: false });
  if (userId === null || filters.length === 0) return { id: { in: [] } };
  // A request without a requester needs no second person. The OR is needed because a plain NOT would be NULL for it.
  const isOther = { OR: [{ fourEyes: false }, { requester: null }, { requester: { not: userId } }] };
  return { kind: { in: [...decidableKinds] }, AND: [isOther, { OR: filters }] };
}

/** Converts a row. The casts hold: check constraints allow only the values of the types, and only `NewInterrupt`s are stored. */
function toInterrupt(row: InterruptRow): Interrupt {
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
