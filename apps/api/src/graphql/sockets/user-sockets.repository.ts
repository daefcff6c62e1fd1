import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

/** The number of connections that one api process has open for a user. */
export interface SocketLease {
  readonly userId: string;
  /** 0: the process has closed its last connection of the user. */
  readonly sockets: number;
}

/** The entry of one process. The lease of a killed process expires. */
export interface LeaseHolder {
  readonly process: string;
  readonly leaseMs: number;
}

const nowMs = Prisma.sql`(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;

/** The entries of other processes whose leases have not expired. */
const others = (process: string) => Prisma.sql`SELECT p.key, p.value FROM jsonb_each(u.processes) AS p(key, value)
   WHERE p.key <> ${process} AND (p.value->>'until')::bigint > ${nowMs}`;

/** Writes rows in the order of user ids, so that two processes that renew at once cannot deadlock. */
const renewal = ({ process, leaseMs }: LeaseHolder, leases: readonly SocketLease[]) => Prisma.sql`
  INSERT INTO user_sockets AS u (user_id, processes)
  SELECT w.user_id, jsonb_build_object(${process}::text, jsonb_build_object('sockets', w.sockets, 'until', ${nowMs} + ${leaseMs}::int))
    FROM unnest(${leases.map(({ userId }) => userId)}::uuid[], ${leases.map(({ sockets }) => sockets)}::int[])
      AS w(user_id, sockets) ORDER BY w.user_id
  ON CONFLICT (user_id) DO UPDATE SET renewed_at = clock_timestamp(),
    processes = coalesce((SELECT jsonb_object_agg(o.key, o.value) FROM (${others(process)}) AS o), '{}') || excluded.processes`;

/** Leases on the connections of users, which all api processes share. */
@Injectable()
export class UserSocketsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Stores that this process has `sockets` connections of the user. Returns false, and stores nothing, above the limit of all processes. */
  async open(holder: LeaseHolder, lease: SocketLease, limit: number): Promise<boolean> {
    // The conflict locks the row of the user, so two processes count one after the other.
    const opened = await this.prisma.outsideWorkspaces(
      (client) => client.$queryRaw<object[]>`${renewal(holder, [lease])}
        WHERE (SELECT coalesce(sum((o.value->>'sockets')::int), 0) FROM (${others(holder.process)}) AS o)
              + ${lease.sockets}::int <= ${limit}::int
        RETURNING user_id`,
    );
    return opened.length > 0;
  }

  /** Stores how many connections this process has of these users, and extends its leases. */
  async renew(holder: LeaseHolder, leases: readonly SocketLease[]): Promise<void> {
    await this.prisma.outsideWorkspaces((client) => client.$executeRaw(renewal(holder, leases)));
  }

  /** Removes the rows of users of whom no process has had connections for twice a lease. */
  async clear(leaseMs: number): Promise<void> {
    await this.prisma.outsideWorkspaces(
      (client) => client.$executeRaw`
        DELETE FROM user_sockets WHERE renewed_at < clock_timestamp() - ${leaseMs}::int * interval '2 ms'`,
    );
  }
}
