import { Injectable } from '@nestjs/common';

import { Postgres, type Scope } from '#platform';

import type { KeysetPage } from '../jobs.repository.js';
import type { Notification, NotificationFilter } from './notification.js';

/** Of each user in a workspace the newest are kept; the others go with the next pass of the retention. */
export const keptPerUser = 1_000;
const forgottenAtOnce = 1_000;

const shown = `n.id, n.type, n.job_id AS "jobId", coalesce(j.root_job_id, n.job_id) AS "rootJobId", t.id AS "threadId",
       coalesce(t.client_id, t.id::text) AS "threadName", n.interrupt_id AS "interruptId",
       coalesce(nullif(i.title, ''), nullif(t.title, ''), w.name, '') AS title,
       (extract(epoch FROM n.created_at) * 1000)::float8 AS "createdAt", (extract(epoch FROM n.read_at) * 1000)::float8 AS "readAt"`;

const about = `JOIN job j ON j.workspace_id = n.workspace_id AND j.id = n.job_id
  LEFT JOIN interrupt i ON i.workspace_id = n.workspace_id AND i.id = n.interrupt_id
  LEFT JOIN thread t ON t.workspace_id = n.workspace_id AND t.id = coalesce(i.thread_id, j.thread_id)
  LEFT JOIN workflow w ON w.workspace_id = n.workspace_id AND w.id = j.workflow_id`;

/** $1 and $2: whose they are; $3 and $4: the filter. */
const mine = `n.workspace_id = $1 AND n.user_id = $2 AND ($3::bool IS NULL OR (n.read_at IS NOT NULL) = $3)
   AND ($4::text[] IS NULL OR n.type = ANY($4))`;

const listSql = (compare: '<' | '>', direction: 'DESC' | 'ASC'): string => `SELECT ${shown} FROM (
  SELECT * FROM notification n WHERE ${mine} AND ($5::uuid IS NULL OR n.id ${compare} $5) ORDER BY n.id ${direction} LIMIT $6) n
  ${about} ORDER BY n.id ${direction}`;

const readSql = `UPDATE notification n SET read_at = clock_timestamp(), changed_in = pg_current_xact_id()
  WHERE n.workspace_id = $1 AND n.user_id = $2 AND n.read_at IS NULL AND ($3::uuid IS NULL OR n.id = $3) AND ($4::uuid IS NULL OR n.id <= $4)`;

/** Transactions before the floor have ended, so they can change nothing any more. A dump of another server may know later ones. */
const changedSql = `SELECT now.floor::text, n.id, n.user_id AS "userId", n.changed_in::text AS "changedIn"
   FROM (SELECT pg_snapshot_xmin(s) AS floor, pg_snapshot_xmax(s) AS ceiling FROM pg_current_snapshot() s) now
   LEFT JOIN LATERAL (
     SELECT id, user_id, changed_in FROM notification
      WHERE workspace_id = $1 AND changed_in >= coalesce($2::text::xid8, now.floor) AND changed_in < now.ceiling
      ORDER BY changed_in DESC LIMIT $3) n ON true`;

type ChangeRow = { readonly floor: string } & (
  | { readonly id: string; readonly userId: string; readonly changedIn: string }
  | { readonly id: null; readonly userId: null; readonly changedIn: null }
);

const forgetSql = `DELETE FROM notification WHERE workspace_id = $1 AND id IN (
  SELECT n.id FROM (SELECT user_id FROM notification WHERE workspace_id = $1 GROUP BY 1 HAVING count(*) > $2) u
   CROSS JOIN LATERAL (SELECT id FROM notification WHERE workspace_id = $1 AND user_id = u.user_id
                        ORDER BY id DESC OFFSET $2) n LIMIT ${forgottenAtOnce})`;

/** What has changed, and from where the next look goes on. */
export interface NotificationChanges {
  /** The first transaction that had not ended. */
  readonly floor: string;
  readonly changed: readonly {
    readonly id: string;
    readonly userId: string;
    /** The transaction that has changed it last. */
    readonly changedIn: string;
  }[];
}

/** What people were told. Everybody has only their own: the user of the scope is part of every statement. */
@Injectable()
export class NotificationsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Newest first (or oldest, with `reverse`); one more than `limit` may come back: then there is a next page. */
  async listMine(scope: Scope, filter: NotificationFilter, page: KeysetPage): Promise<Notification[]> {
    const reverse = page.reverse === true;
    return this.postgres.readInWorkspace<Notification & Record<string, unknown>>(scope.workspaceId, {
      name: reverse ? 'notifications-oldest' : 'notifications',
      text: reverse ? listSql('>', 'ASC') : listSql('<', 'DESC'),
      values: [...toValues(scope, filter), page.after ?? null, page.limit + 1],
    });
  }

  /** Those with these ids, as far as they are one's own and fit the filter; newest first. */
  async findMine(scope: Scope, filter: NotificationFilter, ids: readonly string[]): Promise<Notification[]> {
    return this.postgres.readInWorkspace<Notification & Record<string, unknown>>(scope.workspaceId, {
      name: 'notifications-by-id',
      text: `SELECT ${shown} FROM notification n ${about} WHERE ${mine} AND n.id = ANY($5::uuid[]) ORDER BY n.id DESC`,
      values: [...toValues(scope, filter), ids],
    });
  }

  /**
   * What was written or read by transaction `floor` and later ones, the latest change first and `limit` at most. `floor` null: by those
   * that have not ended now. Says nothing about rights.
   */
  async changedFrom(workspaceId: string, floor: string | null, limit: number): Promise<NotificationChanges> {
    const rows = await this.postgres.readInWorkspace<ChangeRow>(workspaceId, {
      name: 'changed-notifications',
      text: changedSql,
      values: [workspaceId, floor, limit],
    });
    const changed = rows.flatMap(({ id, userId, changedIn }) => (id === null ? [] : [{ id, userId, changedIn }]));
    return { floor: rows[0]?.floor ?? '', changed };
  }

  async countMine(scope: Scope, filter: NotificationFilter): Promise<number> {
    const [row] = await this.postgres.readInWorkspace<{ count: number }>(scope.workspaceId, {
      name: 'notification-count',
      text: `SELECT count(*)::int AS count FROM notification n WHERE ${mine}`,
      values: toValues(scope, filter),
    });
    return row?.count ?? 0;
  }

  /** Marks as read what of one's own was not: one, or all up to one, or all. Gives how many it marked. */
  markRead(scope: Scope, which: { readonly id?: string; readonly upTo?: string } = {}): Promise<number> {
    return this.postgres.withWorkspaceSql(scope.workspaceId, async (client) => {
      const { rowCount } = await client.query(readSql, [
        scope.workspaceId,
        scope.userId,
        which.id ?? null,
        which.upTo ?? null,
      ]);
      return rowCount ?? 0;
    });
  }

  /** Removes what is beyond `keptPerUser`, a part at a time; gives how much. */
  forget(workspaceId: string): Promise<number> {
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rowCount } = await client.query(forgetSql, [workspaceId, keptPerUser]);
      return rowCount ?? 0;
    });
  }
}

function toValues(scope: Scope, { read, types }: NotificationFilter): unknown[] {
  return [scope.workspaceId, scope.userId, read ?? null, types ?? null];
}
