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

/** Which requests a list shows; every member narrows it. Instants in ms since the epoch. */
export interface InterruptFilter {
  readonly statuses?: readonly string[];
  readonly kinds?: readonly string[];
  readonly tool?: string;
  readonly jobId?: string;
  /** A job with all jobs below it, if it is one that a person started; else that one alone. */
  readonly rootJobId?: string;
  readonly threadId?: string;
  /** The user whom it waits for, as the one who started the job. */
  readonly requester?: string;
  readonly decidableBy?: readonly string[];
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  /** Only those that somebody with these rights may decide. */
  readonly decider?: DeciderRights;
}

/** What a principal may decide, in the words of rows. The rule itself is the ability's; lists need it as a filter. */
export interface DeciderRights {
  /** Null: no person, who decides nothing. */
  readonly userId: string | null;
  /** `own`: what comes from its own jobs. */
  readonly approves: 'any' | 'own' | 'none';
  /** Whose jobs it may change, which is what a request to `members` asks for. */
  readonly changes: 'any' | 'own' | 'none';
}

/** An open request of a job below. */
export type InterruptBelow = Pick<Interrupt, 'id' | 'kind'>;

const selected = `i.workspace_id AS "workspaceId", i.id, i.kind, i.status, i.job_id AS "jobId", i.root_job_id AS "rootJobId",
  i.thread_id AS "threadId", i.tool_call_id AS "toolCallId", i.call_id AS "callId", i.tool, i.node_id AS "nodeId", i.path, i.title,
  i.request, i.outcome, i.decided_by AS "decidedBy", i.decided_at AS "decidedAt", i.created_at AS "createdAt",
  i.expires_at AS "expiresAt", i.expire_action AS "expireAction", i.requester, i.decidable_by AS "decidableBy",
  i.four_eyes AS "fourEyes", i.admin_required AS "adminRequired", i.principal, i.device_id AS "deviceId", i.refused`;

const settleSql = `UPDATE interrupt SET status = $3, outcome = $4, decided_by = $5, decided_at = clock_timestamp(), remind_at = NULL,
       claim_until = NULL
  WHERE workspace_id = $1 AND id = $2 AND status = 'open' RETURNING (extract(epoch FROM decided_at) * 1000)::float8 AS "decidedAt"`;

/** Requests to people and clients. Lists take a Scope; settling happens under the lock of the job's row. */
@Injectable()
export class InterruptsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly postgres: Postgres,
  ) {}

  /** Null: absent, or of a job the scope may not read. */
  async findInScope(scope: Scope, id: string): Promise<Interrupt | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const row = await tx.interrupt.findFirst({ where: { AND: [readable(scope), { id }] } });
      return row === null ? null : fromRow(row);
    });
  }

  /** Newest first (or oldest, with `reverse`); one more than `limit` may come back: then there is a next page. */
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

  /** Many at once, as far as they fit the filter; absent and forbidden ones are left out. Oldest first. */
  findManyInScope(scope: Scope, ids: readonly string[], filter: InterruptFilter = {}): Promise<Interrupt[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.interrupt.findMany({
        where: { AND: [readable(scope), toWhere(filter), { id: { in: [...ids] } }] },
        orderBy: { id: 'asc' },
      });
      return rows.map(fromRow);
    });
  }

  /** What these jobs wait for now, oldest first; a job with more than 100 open requests may show fewer. */
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

  /** Ids of the open requests of a workspace, the newest `limit` of them. Says nothing about rights. */
  async openIds(workspaceId: string, limit: number): Promise<string[]> {
    const rows = await this.postgres.readInWorkspace<{ id: string }>(workspaceId, {
      name: 'open-interrupts',
      text: `SELECT id FROM interrupt WHERE workspace_id = $1 AND status = 'open' ORDER BY id DESC LIMIT $2`,
      values: [workspaceId, limit],
    });
    return rows.map(({ id }) => id);
  }

  /** What jobs below this one wait for, at every depth: the oldest `limit`, oldest first. Says nothing about rights. */
  openBelow(workspaceId: string, rootJobId: string, limit: number): Promise<InterruptBelow[]> {
    return this.postgres.readInWorkspace<InterruptBelow>(workspaceId, {
      name: 'open-interrupts-below',
      text: `SELECT id, kind FROM interrupt WHERE workspace_id = $1 AND root_job_id = $2 AND status = 'open' ORDER BY id LIMIT $3`,
      values: [workspaceId, rootJobId, limit],
    });
  }

  /** As it is now, inside the transaction that holds the job. */
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

  /** What a job waits for, oldest first. */
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

  /** The instant of the settlement, ms since the epoch; null when it was not open any more. */
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

  /** Whether anything of a job still waits for somebody outside: a request, or a call that does not run in its worker. */
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

  /** Sets the next reminder a day on; false when somebody else has, or nothing waits any more. */
  async remindLater(client: SqlClient, ref: { readonly workspaceId: string; readonly id: string }): Promise<boolean> {
    const { rowCount } = await client.query(
      `UPDATE interrupt SET remind_at = clock_timestamp() + interval '1 day'
        WHERE workspace_id = $1 AND id = $2 AND status = 'open' AND remind_at < clock_timestamp()`,
      [ref.workspaceId, ref.id],
    );
    return rowCount === 1;
  }
}

/** A caller sees a request that it may read, of a job that it may read. */
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
      // What the root asks itself names no root.
      ...(rootJobId === undefined ? [] : [{ OR: [{ jobId: rootJobId }, { rootJobId }] }]),
    ],
  };
}

/** `mayDecide` of the tools library as a filter; a spec holds the two against each other. */
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
  // A request of nobody's has no fourth eye to look for; NULL would make a plain NOT unknown.
  const isOther = { OR: [{ fourEyes: false }, { requester: null }, { requester: { not: userId } }] };
  return { kind: { in: [...decidableKinds] }, AND: [isOther, { OR: circles }] };
}

function fromRow(row: InterruptRow): Interrupt {
  return toInterrupt({ ...row, request: row.request, outcome: row.outcome });
}
