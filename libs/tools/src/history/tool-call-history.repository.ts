import { Injectable } from '@nestjs/common';

import { PrismaService, type PrismaTransaction } from '#platform';

import { idsOf } from './call-tests.js';
import type { HistoryPage, HistoryQuery } from './history-query.js';
import { pageByDuration, ranOnly } from './page-by-duration.repository.js';
import { pageByTime } from './page-by-time.repository.js';
import { NO_GUESSES } from './planner-settings.js';
import { findScan } from './scan-finder.repository.js';
import { columnsOf, type Stretch, testsSql, trailSql } from './scan-sql.js';
import { Statement } from './statement.js';
import { fitsNothing, type ToolCallFilter, type ToolCallOrder } from './tool-call-filter.js';

/** How many calls fit a filter, as far as they were counted. */
export interface HistoryCount {
  readonly count: number;
  /** False: there are at least so many. */
  readonly isExact: boolean;
}

/** More pages than any reader needs. */
export const MAX_COUNTED = 10_000;

/** Lists of calls across jobs. The caller has asked who may see which. Every read looks at a bounded number of calls. */
@Injectable()
export class ToolCallHistoryRepository {
  constructor(private readonly prisma: PrismaService) {}

  page(query: HistoryQuery): Promise<HistoryPage> {
    if (fitsNothing(query.filter)) return Promise.resolve({ rows: [], next: null });
    const read = query.order.by === 'time' ? pageByTime : pageByDuration;
    return this.read(query.workspaceId, (tx) => read(tx, query));
  }

  /** Counts to 10,000, and looks at no more calls than a page does when a filter has to be tested call by call. */
  count(workspaceId: string, filter: ToolCallFilter, by: ToolCallOrder['by']): Promise<HistoryCount> {
    if (fitsNothing(filter)) return Promise.resolve({ count: 0, isExact: true });
    return this.read(workspaceId, (tx) => countCalls(tx, workspaceId, by === 'time' ? filter : ranOnly(filter)));
  }

  private read<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await tx.$queryRawUnsafe(NO_GUESSES);
      return work(tx);
    });
  }
}

async function countCalls(tx: PrismaTransaction, workspaceId: string, filter: ToolCallFilter): Promise<HistoryCount> {
  const stretch: Stretch = { workspaceId, ...idsOf(filter), direction: 'desc' };
  const { trail, tests, found, end } = await findScan(tx, filter, stretch);
  const { bind, values } = new Statement();
  const longer = end === null ? { ...trail, reach: MAX_COUNTED + 1 } : trail;
  const along = trailSql(longer, { stretch, columns: columnsOf(tests), found }, bind);
  const text = `SELECT count(*)::int AS count FROM (SELECT 1 FROM (${along}) w WHERE ${testsSql(tests, 'w', bind)} LIMIT ${MAX_COUNTED + 1}) hit`;
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(text, ...values);
  const count = row?.count ?? 0;
  const isWhole = end === null || end.type === 'end';
  return { count: Math.min(count, MAX_COUNTED), isExact: isWhole && count <= MAX_COUNTED };
}
