import { Injectable } from '@nestjs/common';

import {
  firstIdAt,
  type InterruptRow,
  Postgres,
  type Prisma,
  PrismaService,
  type Scope,
  type SqlClient,
} from '#platform';

import { decidableKinds, type Interrupt, type Outcome } from '../interrupt.js';
import type { KeysetPage } from '../jobs.repository.js';
import { type StoredInterrupt, toInterrupt } from './to-interrupt.js';

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

/** What a principal may decide, as a filter for lists. The rule itself is part of the ability. */
export interface DeciderRights {
  /** Null: not a person, so it may decide nothing. */
  readonly userId: string | null;
  /** `own`: requests from jobs that it started. */
  readonly approves: 'any' | 'own' | 'none';
  /** Which jobs it may change; a request that is decidable by `members` requires this right. */
  readonly changes: 'any' | 'own' | 'none';
}

/** An open request of a descendant. */
export type InterruptBelow = Pick<Interrupt, 'id' | 'kind'>;

const selected = `i.workspace_id AS "workspaceId", i.id, i.kind, i.status, i.job_id AS "jobId", i.root_job_id AS "rootJobId",
  i.thread_id AS "threadId", i.tool_call_id AS "toolCallId", i.call_id AS "callId", i.tool, i.node_id AS "nodeId", i.path, i.title,
  i.request, i.outcome, i.decided_by AS "decidedBy", i.decided_at AS "decidedAt", i.created_at AS "createdAt",
  i.expires_at AS "expiresAt", i.expire_action AS "expireAction", i.requester, i.decidable_by AS "decidableBy",
  i.four_eyes AS "fourEyes", i.admin_required AS "adminRequired", i.principal, i.device_id AS "deviceId", i.refused`;

const settleSql = `UPDATE interrupt SET status = $3, outcome = $4, decided_by = $5, decided_at = clock_timestamp(), remind_at = NULL,
       claim_until = NULL
  WHERE workspace_id = $1 AND id = $2 AND status = 'open' RETURNING (extract(epoch FROM decided_at) * 1000)::float8 AS "decidedAt"`;

/** Requests to people and clients. Lists take a Scope; `settle` requires the lock of the job's row. */
@Injectable()
export class InterruptsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly postgres: Postgres,
  ) {}

  /** Null: absent, or of a job that the scope does not cover. */
  async findInScope(scope: Scope, id: string): Promise<Interrupt | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const row = await tx.interrupt.findFirst({ where: { AND: [readable(scope), { id }] } });
      return row === null ? null : fromRow(row);
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
      return rows.map(fromRow);
    });
  }

  countInScope(scope: Scope, filter: InterruptFilter): Promise<number> {
    return this.prisma.withWorkspace(scope, (tx) =>
      tx.interrupt.count({ where: { AND: [readable(scope), toWhere(filter)] } }),
    );
  }

  /** Many at once that match the filter, oldest first. Skips absent and forbidden ids. */
  findManyInScope(scope: Scope, ids: readonly string[], filter: InterruptFilter = {}): Promise<Interrupt[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.interrupt.findMany({
        where: { AND: [readable(scope), toWhere(filter), { id: { in: [...ids] } }] },
        orderBy: { id: 'asc' },
      });
      return rows.map(fromRow);
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
      return rows.map(fromRow);
    });
  }

  /** Ids of the newest `limit` open requests of a workspace. Does not check rights. */
  async openIds(workspaceId: string, limit: number): Promise<string[]> {
    const rows = await this.postgres.readInWorkspace<{ id: string }>(workspaceId, {
      name: 'open-interrupts',
      text: `SELECT id FROM interrupt WHERE workspace_id = $1 AND status = 'open' ORDER BY id DESC LIMIT $2`,
      values: [workspaceId, limit],
    });
    return rows.map(({ id }) => id);
  }

  /** The oldest `limit` open requests of the job's descendants, oldest first. Does not check rights. */
  openBelow(workspaceId: string, rootJobId: string, limit: number): Promise<InterruptBelow[]> {
    return this.postgres.readInWorkspace<InterruptBelow>(workspaceId, {
      name: 'open-interrupts-below',
      text: `SELECT id, kind FROM interrupt WHERE workspace_id = $1 AND root_job_id = $2 AND status = 'open' ORDER BY id LIMIT $3`,
      values: [workspaceId, rootJobId, limit],
    });
  }

  /** The current state, read in the transaction that locks the job. */
  async read(client: SqlClient, workspaceId: string, id: string): Promise<Interrupt | null> {
    const { rows } = await client.query<StoredInterrupt>(
      `SELECT ${selected} FROM interrupt i WHERE i.workspace_id = $1 AND i.id = $2`,
      [workspaceId, id],
    );
    const [row] = rows;
    return row === undefined ? null : toInterrupt(row);
  }

  /** The open request about a call, if there is one. */
  async openOfCall(client: SqlClient, workspaceId: string, toolCallId: string): Promise<Interrupt | null> {
    const { rows } = await client.query<StoredInterrupt>(
      `SELECT ${selected} FROM interrupt i WHERE i.workspace_id = $1 AND i.tool_call_id = $2 AND i.status = 'open'`,
      [workspaceId, toolCallId],
    );
    const [row] = rows;
    return row === undefined ? null : toInterrupt(row);
  }

  /** The open requests of a job, oldest first. */
  async openOfJob(
    client: SqlClient,
    { workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string },
  ): Promise<Interrupt[]> {
    const { rows } = await client.query<StoredInterrupt>(
      `SELECT ${selected} FROM interrupt i WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.status = 'open' ORDER BY i.id`,
      [workspaceId, jobId],
    );
    return rows.map(toInterrupt);
  }

  /** Returns the instant of the settlement, ms since the epoch; null: the request was not open. */
  async settle(
    client: SqlClient,
    ref: { readonly workspaceId: string; readonly id: string },
    end: {
      readonly status: 'resolved' | 'expired' | 'cancelled';
      readonly outcome: Outcome;
      readonly by: string | null;
    },
  ): Promise<number | null> {
    const values = [ref.workspaceId, ref.id, end.status, JSON.stringify(end.outcome), end.by];
    const { rows } = await client.query<{ decidedAt: number }>(settleSql, values);
    return rows[0]?.decidedAt ?? null;
  }

  /** Whether the job still waits for something outside its worker: an open request, or a call that runs elsewhere. */
  async isAnythingOpen(
    client: SqlClient,
    { workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string },
  ): Promise<boolean> {
    const { rows } = await client.query<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM interrupt WHERE workspace_id = $1 AND job_id = $2 AND status = 'open')
           OR EXISTS (SELECT 1 FROM tool_call WHERE workspace_id = $1 AND job_id = $2 AND status = 'running'
                         AND executor IN ('queue', 'client', 'job')) AS open`,
      [workspaceId, jobId],
    );
    return rows[0]?.open ?? false;
  }

  /** Sets the next reminder to a day from now; false: another worker did, or the request is not open. */
  async remindLater(client: SqlClient, ref: { readonly workspaceId: string; readonly id: string }): Promise<boolean> {
    const { rowCount } = await client.query(
      `UPDATE interrupt SET remind_at = clock_timestamp() + interval '1 day'
        WHERE workspace_id = $1 AND id = $2 AND status = 'open' AND remind_at < clock_timestamp()`,
      [ref.workspaceId, ref.id],
    );
    return rowCount === 1;
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

/** `mayDecide` of the tools lib as a filter; a spec compares the two. */
function decidableWith({ userId, approves, changes }: DeciderRights): Prisma.InterruptWhereInput {
  const own = { requester: userId };
  const circles: Prisma.InterruptWhereInput[] = [];
  if (approves === 'any') {
    circles.push({ adminRequired: true }, { decidableBy: 'approvers' }, { decidableBy: 'requester', requester: null });
  }
  if (approves !== 'none') circles.push({ ...own, decidableBy: 'requester', adminRequired: false });
  if (changes === 'own') circles.push({ ...own, decidableBy: 'members', adminRequired: false });
  if (changes === 'any') circles.push({ decidableBy: 'members', adminRequired: false });
  if (userId === null || circles.length === 0) return { id: { in: [] } };
  // Without a requester, four eyes cannot be required; NULL would make a plain NOT unknown.
  const isOther = { OR: [{ fourEyes: false }, { requester: null }, { requester: { not: userId } }] };
  return { kind: { in: [...decidableKinds] }, AND: [isOther, { OR: circles }] };
}

function fromRow(row: InterruptRow): Interrupt {
  return toInterrupt({ ...row, request: row.request, outcome: row.outcome });
}
