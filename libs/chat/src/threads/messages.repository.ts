import { Injectable } from '@nestjs/common';

import { assertReadable, type MessageRow, type Prisma, PrismaService, type Scope } from '#platform';

import type { Message } from './thread.js';

/** A page by position: oldest first, after a position; with `reverse`: newest first, before it. `limit` is 1 to 100. */
export interface PositionPage {
  readonly limit: number;
  readonly after?: number;
  readonly reverse?: boolean;
}

/** The messages of threads. Every method takes a Scope and finds only rows that the scope covers. */
@Injectable()
export class MessagesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Throws `too_large`. */
  findManyInScope(scope: Scope, ids: readonly string[]): Promise<Message[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const where = { AND: [readable(scope), { id: { in: [...ids] } }] };
      const found = await tx.message.findMany({ where, select: { id: true } });
      const [size] = await tx.$queryRaw<{ bytes: number | null }[]>`
        SELECT sum(octet_length(content::text))::float8 AS bytes FROM message
         WHERE workspace_id = ${scope.workspaceId}::uuid AND id = ANY(${found.map(({ id }) => id)}::uuid[])`;
      assertReadable(size?.bytes ?? 0);
      const rows = await tx.message.findMany({ where });
      return rows.map(toMessage);
    });
  }

  /** The same page of each thread, in two statements. Returns one more than `limit` for a thread that has a next page. Throws `too_large`. */
  listInThreads(scope: Scope, threadIds: readonly string[], page: PositionPage): Promise<Map<string, Message[]>> {
    const { limit, after, reverse = false } = page;
    return this.prisma.withWorkspace(scope, async (tx) => {
      const [ids, workspaceId, max] = [[...threadIds], scope.workspaceId, limit + 1];
      // Two statements, because the direction cannot be a parameter, and only a plain ORDER BY uses the index.
      const picked = reverse
        ? await tx.$queryRaw<Picked[]>`SELECT m.id, m.bytes FROM unnest(${ids}::uuid[]) AS t(id), LATERAL (
            SELECT x.id, octet_length(x.content::text) AS bytes FROM message x WHERE x.workspace_id = ${workspaceId}::uuid AND x.thread_id = t.id
               AND x.position < ${after ?? endOfTime} ORDER BY x.position DESC LIMIT ${max}) m`
        : await tx.$queryRaw<Picked[]>`SELECT m.id, m.bytes FROM unnest(${ids}::uuid[]) AS t(id), LATERAL (
            SELECT x.id, octet_length(x.content::text) AS bytes FROM message x WHERE x.workspace_id = ${workspaceId}::uuid AND x.thread_id = t.id
               AND x.position > ${after ?? 0} ORDER BY x.position LIMIT ${max}) m`;
      assertReadable(picked.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0));
      const rows = await tx.message.findMany({
        where: { AND: [readable(scope), { id: { in: picked.map(({ id }) => id) } }] },
        orderBy: { position: reverse ? 'desc' : 'asc' },
      });
      return Map.groupBy(rows.map(toMessage), ({ threadId }) => threadId);
    });
  }

  /** The number of messages of each thread, without threads that have none. */
  countInThreads(scope: Scope, threadIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const where = { AND: [readable(scope), { threadId: { in: [...threadIds] } }] };
      const rows = await tx.message.groupBy({ by: ['threadId'], where, _count: true });
      return new Map(rows.map((row) => [row.threadId, row._count]));
    });
  }
}

interface Picked {
  readonly id: string;
  /** Null for the response of a job, whose rounds contain the text. */
  readonly bytes: number | null;
}

/** The largest Postgres integer; positions are Postgres integers. */
const endOfTime = 2_147_483_647;

/** A message is readable if its thread is. */
function readable(scope: Scope): Prisma.MessageWhereInput {
  const { workspaceId } = scope;
  return { AND: [scope.where('Message'), { workspaceId }, { thread: { is: scope.where('Thread') } }] };
}

function toMessage(row: MessageRow): Message {
  const { id, threadId, position, role, clientId, content, jobId, createdBy, createdAt } = row;
  return { id, threadId, position, role, clientId, content, jobId, createdBy, createdAt: createdAt.getTime() };
}
