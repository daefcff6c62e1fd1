import { Injectable } from '@nestjs/common';

import { Postgres, type SqlClient } from '#platform';

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

/** Nobody pages through more. */
export const MAX_COUNTED = 10_000;

/** Lists of calls across jobs. The caller has asked who may see which. Every read looks at a bounded number of calls. */
@Injectable()
export class ToolCallHistoryRepository {
  constructor(private readonly postgres: Postgres) {}

  page(query: HistoryQuery): Promise<HistoryPage> {
    if (fitsNothing(query.filter)) return Promise.resolve({ rows: [], next: null });
    const read = query.order.by === 'time' ? pageByTime : pageByDuration;
    return this.read(query.workspaceId, (client) => read(client, query));
  }

  /** Counts to 10,000, and looks at no more calls than a page does when a filter has to be tested call by call. */
  count(workspaceId: string, filter: ToolCallFilter, by: ToolCallOrder['by']): Promise<HistoryCount> {
    if (fitsNothing(filter)) return Promise.resolve({ count: 0, isExact: true });
    return this.read(workspaceId, (client) =>
      countCalls(client, workspaceId, by === 'time' ? filter : ranOnly(filter)),
    );
  }

  private read<T>(workspaceId: string, work: (client: SqlClient) => Promise<T>): Promise<T> {
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const [, result] = await Promise.all([client.query(NO_GUESSES), work(client)]);
      return result;
    });
  }
}

async function countCalls(client: SqlClient, workspaceId: string, filter: ToolCallFilter): Promise<HistoryCount> {
  const stretch: Stretch = { workspaceId, ...idsOf(filter), direction: 'desc' };
  const { trail, tests, found, end } = await findScan(client, filter, stretch);
  const { bind, values } = new Statement();
  const longer = end === null ? { ...trail, reach: MAX_COUNTED + 1 } : trail;
  const along = trailSql(longer, { stretch, columns: columnsOf(tests), found }, bind);
  const text = `SELECT count(*)::int AS count FROM (SELECT 1 FROM (${along}) w WHERE ${testsSql(tests, 'w', bind)} LIMIT ${MAX_COUNTED + 1}) hit`;
  const { rows } = await client.query<{ count: number }>(text, values);
  const count = rows[0]?.count ?? 0;
  const isWhole = end === null || end.type === 'end';
  return { count: Math.min(count, MAX_COUNTED), isExact: isWhole && count <= MAX_COUNTED };
}
