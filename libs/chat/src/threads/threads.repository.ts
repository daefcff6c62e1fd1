import { Injectable } from '@nestjs/common';

import { type KeysetPage, whenBusyChoices } from '#jobs';
import { isId, type Prisma, PrismaService, type Scope, type ThreadRow, toStorableText } from '#platform';

import type { Thread } from './thread.js';

/** Filters a list of threads. */
export interface ThreadFilter {
  readonly createdBy?: string;
}

/** A thread to be created. */
export interface NewThread {
  readonly id: string;
  readonly clientId: string | null;
  readonly title: string;
  readonly createdBy: string;
}

/** The threads of a workspace. Every method takes a Scope and finds only rows that the scope covers. */
@Injectable()
export class ThreadsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** By our id, or by the id that a client of the same user gave it: two users may use the same id for different threads. */
  findInScope(scope: Scope, given: string): Promise<Thread | null> {
    const ref = toStorableText(given);
    return this.prisma.withWorkspace(scope, async (tx) => {
      const own = scope.userId === null ? [] : [{ clientId: ref, createdBy: scope.userId }];
      const named = { OR: [...(isId(ref) ? [{ id: ref }] : []), ...own] };
      const row = await tx.thread.findFirst({ where: { AND: [readable(scope), named] } });
      return row === null ? null : toThread(row);
    });
  }

  /** The threads with these ids, for data loaders. Skips absent and forbidden ids. */
  findManyInScope(scope: Scope, ids: readonly string[]): Promise<Thread[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.thread.findMany({ where: { AND: [readable(scope), { id: { in: [...ids] } }] } });
      return rows.map(toThread);
    });
  }

  /** Newest first. Returns one more than `limit` if there is a next page. */
  listInScope(scope: Scope, filter: ThreadFilter, page: KeysetPage): Promise<Thread[]> {
    const direction = page.reverse === true ? 'asc' : 'desc';
    const beyond =
      page.after === undefined ? {} : { id: page.reverse === true ? { gt: page.after } : { lt: page.after } };
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.thread.findMany({
        where: { AND: [readable(scope), filter, beyond] },
        orderBy: [{ workspaceId: direction }, { id: direction }],
        take: page.limit + 1,
      });
      return rows.map(toThread);
    });
  }

  countInScope(scope: Scope, filter: ThreadFilter): Promise<number> {
    return this.prisma.withWorkspace(scope, (tx) => tx.thread.count({ where: { AND: [readable(scope), filter] } }));
  }

  /** Returns null if the user already has a thread with this client id. The caller checks the right to create. */
  insert(scope: Scope, thread: NewThread): Promise<Thread | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const data = { workspaceId: scope.workspaceId, ...thread };
      const [row] = await tx.thread.createManyAndReturn({ data: [data], skipDuplicates: true });
      return row === undefined ? null : toThread(row);
    });
  }

  /** Returns null if the scope has no such thread. The caller checks the right to rename. */
  rename(scope: Scope, id: string, title: string): Promise<Thread | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const where = { AND: [readable(scope), { id }] };
      const [row] = await tx.thread.updateManyAndReturn({ where, data: { title, updatedAt: new Date() } });
      return row === undefined ? null : toThread(row);
    });
  }
}

function readable(scope: Scope): Prisma.ThreadWhereInput {
  return { AND: [scope.where('Thread'), { workspaceId: scope.workspaceId }] };
}

function toThread(row: ThreadRow): Thread {
  const { id, clientId, title, createdBy, whenBusy } = row;
  return {
    id,
    clientId,
    title,
    createdBy,
    externalUserId: row.externalUser,
    whenBusy: whenBusyChoices.find((choice) => choice === whenBusy) ?? null,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  };
}
