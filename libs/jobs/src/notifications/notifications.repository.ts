import { Injectable } from '@nestjs/common';

import { newId, Prisma, PrismaService, type PrismaTransaction, type Scope } from '#platform';

import type { KeysetPage } from '../jobs.repository.js';
import type { Notification, NotificationFilter } from './notification.js';

/** The newest notifications of each user in a workspace are kept; the retention deletes older ones. */
export const keptPerUser = 1_000;
const forgottenAtOnce = 1_000;

const shown = Prisma.sql`n.id, n.type, n.job_id AS "jobId", coalesce(j.root_job_id, n.job_id) AS "rootJobId", t.id AS "threadId",
       coalesce(t.client_id, t.id::text) AS "threadName", n.interrupt_id AS "interruptId", n.endpoint_id AS "endpointId",
       coalesce(n.title, nullif(i.title, ''), nullif(t.title, ''), w.name, '') AS title,
       (extract(epoch FROM n.created_at) * 1000)::float8 AS "createdAt", (extract(epoch FROM n.read_at) * 1000)::float8 AS "readAt"`;

const about = Prisma.sql`LEFT JOIN job j ON j.workspace_id = n.workspace_id AND j.id = n.job_id
  LEFT JOIN interrupt i ON i.workspace_id = n.workspace_id AND i.id = n.interrupt_id
  LEFT JOIN thread t ON t.workspace_id = n.workspace_id AND t.id = coalesce(i.thread_id, j.thread_id)
  LEFT JOIN workflow w ON w.workspace_id = n.workspace_id AND w.id = j.workflow_id`;

/** The caller's own notifications that match the filter. */
const mine = (scope: Scope, { read, types }: NotificationFilter) => {
  const isRead = read === undefined ? Prisma.empty : Prisma.sql`AND (n.read_at IS NOT NULL) = ${read}::bool`;
  const isOfType = types === undefined ? Prisma.empty : Prisma.sql`AND n.type = ANY(${[...types]}::text[])`;
  return Prisma.sql`n.workspace_id = ${scope.workspaceId}::uuid AND n.user_id = ${scope.userId}::uuid ${isRead} ${isOfType}`;
};

type ChangeRow = { readonly oldestRunning: string } & (
  | { readonly id: string; readonly userId: string; readonly changedIn: string }
  | { readonly id: null; readonly userId: null; readonly changedIn: null }
);

/** The changes since a transaction, and the transaction from which the next call continues. */
export interface NotificationChanges {
  /** The oldest transaction that had not ended. */
  readonly oldestRunning: string;
  readonly changed: readonly {
    readonly id: string;
    readonly userId: string;
    /** The transaction that changed it last. */
    readonly changedIn: string;
  }[];
}

/** A notification with its user. */
export interface UserNotification extends Notification {
  readonly userId: string;
}

/** A notification about a job. */
export interface JobNotification extends UserNotification {
  readonly jobId: string;
  readonly rootJobId: string;
}

/** A notification with its place in the order of `unreadFrom`. */
export interface UnreadNotification extends UserNotification {
  /** The transaction that wrote it. */
  readonly changedIn: string;
}

/** One page of unread notifications, and the oldest transaction that had not ended. */
export interface UnreadPage {
  readonly oldestRunning: string;
  readonly notifications: readonly UnreadNotification[];
}

/** A notification that is about a webhook endpoint. */
export interface EndpointNotice {
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly title: string;
  /** Ms since the epoch. */
  readonly now: number;
}

/** Notifications of users. Every statement for a caller filters by the user of its scope. */
@Injectable()
export class NotificationsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first (or oldest, with `reverse`). Returns one more than `limit` if there is a next page. */
  listMine(scope: Scope, filter: NotificationFilter, page: KeysetPage): Promise<Notification[]> {
    const [compare, direction] =
      page.reverse === true ? [Prisma.sql`>`, Prisma.sql`ASC`] : [Prisma.sql`<`, Prisma.sql`DESC`];
    const beyond = page.after === undefined ? Prisma.empty : Prisma.sql`AND n.id ${compare} ${page.after}::uuid`;
    return this.prisma.queryInWorkspace<Notification>(
      scope,
      Prisma.sql`SELECT ${shown} FROM (
        SELECT * FROM notification n WHERE ${mine(scope, filter)} ${beyond} ORDER BY n.id ${direction} LIMIT ${page.limit + 1}) n
        ${about} ORDER BY n.id ${direction}`,
    );
  }

  /** The caller's own notifications among these ids that match the filter; newest first. */
  findMine(scope: Scope, filter: NotificationFilter, ids: readonly string[]): Promise<Notification[]> {
    return this.prisma.queryInWorkspace<Notification>(
      scope,
      Prisma.sql`SELECT ${shown} FROM notification n ${about}
        WHERE ${mine(scope, filter)} AND n.id = ANY(${[...ids]}::uuid[]) ORDER BY n.id DESC`,
    );
  }

  /**
   * Notifications that transaction `since` or a later one has created or marked as read, the latest change first, at most `limit`. With
   * `since` null, only those of transactions that have not ended yet. Does not check rights.
   */
  async changedFrom(workspaceId: string, since: string | null, limit: number): Promise<NotificationChanges> {
    // Transactions before `oldestRunning` have ended and cannot change rows any more. The dump of another server may contain later ids.
    const rows = await this.prisma.queryInWorkspace<ChangeRow>(
      { workspaceId },
      Prisma.sql`SELECT now."oldestRunning"::text, n.id, n.user_id AS "userId", n.changed_in::text AS "changedIn"
   FROM (SELECT pg_snapshot_xmin(s) AS "oldestRunning", pg_snapshot_xmax(s) AS next_transaction FROM pg_current_snapshot() s) now
   LEFT JOIN LATERAL (
     SELECT id, user_id, changed_in FROM notification
      WHERE workspace_id = ${workspaceId}::uuid AND changed_in >= coalesce(${since}::text::xid8, now."oldestRunning") AND changed_in < now.next_transaction
      ORDER BY changed_in DESC LIMIT ${limit}) n ON true`,
    );
    const changed = rows.flatMap(({ id, userId, changedIn }) => (id === null ? [] : [{ id, userId, changedIn }]));
    return { oldestRunning: rows[0]?.oldestRunning ?? '', changed };
  }

  /**
   * Unread notifications of all users that transaction `since` or a later one wrote, in the order of their transactions, after `after`,
   * at most `limit`. A later call with `oldestRunning` as `since` misses none, and may repeat some. Does not check rights.
   */
  async unreadFrom(
    tx: PrismaTransaction,
    workspaceId: string,
    page: { readonly since: string; readonly after: UnreadNotification | null; readonly limit: number },
  ): Promise<UnreadPage> {
    const { since, after, limit } = page;
    const beyond =
      after === null
        ? Prisma.empty
        : Prisma.sql`AND (n.changed_in, n.id) > (${after.changedIn}::text::xid8, ${after.id}::uuid)`;
    // If the dump of another server was restored, `since` may be a transaction id that this server has not reached.
    const rows = await tx.$queryRaw<(UnreadNotification | (Record<keyof UnreadNotification, null> & { id: null }))[]>`
      SELECT now."oldestRunning"::text, found.*
        FROM (SELECT pg_snapshot_xmin(s) AS "oldestRunning", pg_snapshot_xmax(s) AS next_transaction FROM pg_current_snapshot() s) now
        LEFT JOIN LATERAL (
          SELECT ${shown}, n.user_id AS "userId", n.changed_in::text AS "changedIn" FROM (
            SELECT * FROM notification n WHERE n.workspace_id = ${workspaceId}::uuid AND n.read_at IS NULL ${beyond}
               AND n.changed_in >= least(${since}::text::xid8, now."oldestRunning") AND n.changed_in < now.next_transaction
             ORDER BY n.changed_in, n.id LIMIT ${limit}) n ${about} ORDER BY n.changed_in, n.id) found ON true`;
    const notifications = rows.flatMap((row) => (row.id === null ? [] : [row]));
    return {
      oldestRunning: (rows[0] as { oldestRunning?: string } | undefined)?.oldestRunning ?? since,
      notifications,
    };
  }

  /**
   * The notification of a request of the job, or with `interruptId` null of its end. Returns null if there is none. Does not check rights.
   */
  async findAbout(
    { workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string },
    interruptId: string | null,
  ): Promise<JobNotification | null> {
    const [found = null] = await this.prisma.queryInWorkspace<JobNotification>(
      { workspaceId },
      Prisma.sql`SELECT ${shown}, n.user_id AS "userId" FROM notification n ${about}
        WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid
          AND n.interrupt_id IS NOT DISTINCT FROM ${interruptId}::uuid LIMIT 1`,
    );
    return found;
  }

  /** Whether the user has read the notification, or it was deleted. */
  async isDone(workspaceId: string, id: string): Promise<boolean> {
    const rows = await this.prisma.queryInWorkspace<{ id: string }>(
      { workspaceId },
      Prisma.sql`SELECT id FROM notification WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND read_at IS NULL`,
    );
    return rows.length === 0;
  }

  /** Notifies users that an endpoint was disabled, in the transaction that disables it. */
  async notifyOfEndpoint(
    tx: PrismaTransaction,
    { workspaceId, endpointId, title, now }: EndpointNotice,
    userIds: readonly string[],
  ): Promise<void> {
    const notice = { workspaceId, endpointId, title, type: 'endpoint_disabled', createdAt: new Date(now) };
    await tx.notification.createMany({ data: userIds.map((userId) => ({ ...notice, id: newId(), userId })) });
  }

  async countMine(scope: Scope, filter: NotificationFilter): Promise<number> {
    const [row] = await this.prisma.queryInWorkspace<{ count: number }>(
      scope,
      Prisma.sql`SELECT count(*)::int AS count FROM notification n WHERE ${mine(scope, filter)}`,
    );
    return row?.count ?? 0;
  }

  /** Marks unread notifications of the caller as read: one, all up to one, or all. Returns how many it marked. */
  markRead(scope: Scope, which: { readonly id?: string; readonly upTo?: string } = {}): Promise<number> {
    const { id = null, upTo = null } = which;
    return this.prisma.withWorkspace(
      scope,
      (tx) => tx.$executeRaw`UPDATE notification n SET read_at = clock_timestamp(), changed_in = pg_current_xact_id()
        WHERE n.workspace_id = ${scope.workspaceId}::uuid AND n.user_id = ${scope.userId}::uuid AND n.read_at IS NULL
          AND (${id}::uuid IS NULL OR n.id = ${id}::uuid) AND (${upTo}::uuid IS NULL OR n.id <= ${upTo}::uuid)`,
    );
  }

  /** Deletes notifications beyond `keptPerUser`, one batch per call; returns how many. */
  deleteExpired(workspaceId: string): Promise<number> {
    return this.prisma.withWorkspace(
      { workspaceId },
      (tx) => tx.$executeRaw`DELETE FROM notification WHERE workspace_id = ${workspaceId}::uuid AND id IN (
  SELECT n.id FROM (SELECT user_id FROM notification WHERE workspace_id = ${workspaceId}::uuid GROUP BY 1 HAVING count(*) > ${keptPerUser}) u
   CROSS JOIN LATERAL (SELECT id FROM notification WHERE workspace_id = ${workspaceId}::uuid AND user_id = u.user_id
                        ORDER BY id DESC OFFSET ${keptPerUser}) n LIMIT ${forgottenAtOnce})`,
    );
  }
}
