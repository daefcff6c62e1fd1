import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** Connections that one api process has open for a user. */
export interface SocketLease {
  readonly userId: string;
  /** 0: the process has none any more. */
  readonly sockets: number;
}

/** The entry of one process. The lease of a killed process expires. */
export interface LeaseHolder {
  readonly process: string;
  readonly leaseMs: number;
}

const nowMs = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;

/** The entries of other processes whose leases have not run out. */
const others = `SELECT p.key, p.value FROM jsonb_each(u.processes) AS p(key, value)
   WHERE p.key <> $1 AND (p.value->>'until')::bigint > ${nowMs}`;

/** In the order of user ids, so that two processes that renew at once cannot deadlock. */
const renewSql = `INSERT INTO user_sockets AS u (user_id, processes)
SELECT w.user_id, jsonb_build_object($1::text, jsonb_build_object('sockets', w.sockets, 'until', ${nowMs} + $2::int))
  FROM unnest($3::uuid[], $4::int[]) AS w(user_id, sockets) ORDER BY w.user_id
ON CONFLICT (user_id) DO UPDATE SET renewed_at = clock_timestamp(),
  processes = coalesce((SELECT jsonb_object_agg(o.key, o.value) FROM (${others}) AS o), '{}') || excluded.processes`;

/** The row of the user is locked by the conflict, so two processes count one after the other. */
const openSql = `${renewSql}
 WHERE (SELECT coalesce(sum((o.value->>'sockets')::int), 0) FROM (${others}) AS o) + $4[1] <= $5::int
RETURNING user_id`;

/** Leases on the connections of users, which all api processes share. */
@Injectable()
export class UserSocketsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Writes that this process has `sockets` connections of the user, unless that is over the limit of all processes: false. */
  async open({ process, leaseMs }: LeaseHolder, { userId, sockets }: SocketLease, limit: number): Promise<boolean> {
    const { rowCount } = await this.postgres.api.query({
      name: 'open-socket',
      text: openSql,
      values: [process, leaseMs, [userId], [sockets], limit],
    });
    return rowCount !== 0;
  }

  /** Writes how many connections this process has of these users, and extends its leases. */
  async renew({ process, leaseMs }: LeaseHolder, leases: readonly SocketLease[]): Promise<void> {
    const values = [process, leaseMs, leases.map(({ userId }) => userId), leases.map(({ sockets }) => sockets)];
    await this.postgres.api.query({ name: 'renew-sockets', text: renewSql, values });
  }

  /** Removes the rows of users of whom no process has had connections for twice a lease. */
  async clear(leaseMs: number): Promise<void> {
    await this.postgres.api.query(
      `DELETE FROM user_sockets WHERE renewed_at < clock_timestamp() - $1::int * interval '2 ms'`,
      [leaseMs],
    );
  }
}
