import type { PrismaTransaction } from '#platform';

import { idsOf } from './call-tests.js';
import { type HistoryPage, type HistoryQuery, toHistoryPage } from './history-query.js';
import { readCalls } from './read-calls.repository.js';
import { type ChosenScan, findScan } from './scan-finder.repository.js';
import { columnsOf, type Stretch, testsSql, trailSql } from './scan-sql.js';
import { Statement } from './statement.js';

/** A page of a list by time. */
export async function pageByTime(tx: PrismaTransaction, query: HistoryQuery): Promise<HistoryPage> {
  const { filter, limit } = query;
  const { direction } = query.order;
  const stretch = stretchOf(query);
  const chosen = await findScan(tx, filter, stretch);
  const end = chosen.end?.type === 'at' ? chosen.end.id : null;
  const statement = new Statement();
  const { bind } = statement;
  const along = { stretch: upTo(stretch, end, chosen), columns: columnsOf(chosen.tests), found: chosen.found };
  const hits = `SELECT w.id FROM (${trailSql(chosen.trail, along, bind)}) w
    WHERE ${testsSql(chosen.tests, 'w', bind)} ORDER BY w.id ${direction} LIMIT ${limit + 1}`;
  const rows = await readCalls(tx, { ...query, hits, order: `ORDER BY hit.id ${direction}` }, statement);
  return toHistoryPage(rows, query, end === null ? null : { id: end });
}

function stretchOf({ workspaceId, filter, order: { direction }, after: place }: HistoryQuery): Stretch {
  const { after, before } = idsOf(filter);
  if (place === null) return { workspaceId, direction, after, before };
  return direction === 'desc'
    ? { workspaceId, direction, after, before: place.id < before ? place.id : before }
    : { workspaceId, direction, before, after: place.id > after ? place.id : after };
}

/** Where a search has stopped, nothing beyond was looked at; another trail is cut by its reach. No call has the id `end` of a search. */
function upTo(stretch: Stretch, end: string | null, { found }: ChosenScan): Stretch {
  if (end === null || found === undefined) return stretch;
  return stretch.direction === 'desc' ? { ...stretch, after: end } : { ...stretch, before: end };
}
