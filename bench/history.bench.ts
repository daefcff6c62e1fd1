import pg from 'pg';

import { databaseUrls, migrate, Postgres, PrismaService } from '#platform';

import { FORCE_INDEX_ORDER } from '../libs/tools/src/history/planner-settings.js';
import type { ToolCallFilter, ToolCallOrder } from '../libs/tools/src/history/tool-call-filter.js';
import { ToolCallHistoryRepository } from '../libs/tools/src/history/tool-call-history.repository.js';
import { type StatsDimension } from '../libs/tools/src/history/tool-call-stats.js';
import { ToolCallStatsRepository } from '../libs/tools/src/history/tool-call-stats.repository.js';
import { atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { historyFilters } from './history/history-filters.js';
import { plansOf, RecordedStatements } from './history/recorded-statements.js';
import { seedCalls, type SeededHistory } from './history/seed-calls.js';
import { measureWrites } from './history/write-cost.js';
import { median, percentile, rounded } from './measure/statistics.js';
import { BENCH_SECRET, BenchPostgres } from './stack/bench-postgres.js';

const DATABASE = 'history';
const PAGE = 50;
const DAY_MS = 86_400_000;

/** The history of tool calls over a million of them: every kind of list, statistics of a day, and what it costs to write. */
export const history: Bench = {
  name: 'history',
  about: 'lists and statistics over 1,000,000 tool calls, their plans, and what their indexes cost each call',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const server = await BenchPostgres.start();
    cleanUp.defer(() => server.close());
    const seeded = await fill(server, mode);
    const read = await measureReads(server, seeded, mode);
    const writes = await measureCosts(server, mode);
    return { rows: [...read.rows, ...writes], aims: read.aims };
  },
};

function ownerUrl(server: BenchPostgres): string {
  const url = new URL(server.urls.owner);
  url.pathname = `/${DATABASE}`;
  return url.toString();
}

/** The database that everything is measured on; writes are measured on copies of it. */
async function fill(server: BenchPostgres, mode: BenchMode): Promise<SeededHistory> {
  await server.admin.query(`CREATE DATABASE ${DATABASE}`);
  await migrate(databaseUrls(ownerUrl(server), BENCH_SECRET));
  const client = new pg.Client({ connectionString: ownerUrl(server) });
  await client.connect();
  try {
    return await seedCalls(client, mode.quick ? 100_000 : 1_000_000, mode.say);
  } finally {
    await client.end();
  }
}

interface Reading {
  readonly history: ToolCallHistoryRepository;
  readonly stats: ToolCallStatsRepository;
  readonly postgres: Postgres;
  readonly statements: RecordedStatements;
  readonly workspaceId: string;
  readonly runs: number;
}

async function measureReads(
  server: BenchPostgres,
  { workspaceId }: SeededHistory,
  mode: BenchMode,
): Promise<BenchReport> {
  const postgres = Postgres.connect(databaseUrls(ownerUrl(server), BENCH_SECRET), { poolSize: 2 });
  const prisma = new PrismaService(postgres);
  const reading: Reading = {
    history: new ToolCallHistoryRepository(prisma),
    stats: new ToolCallStatsRepository(prisma),
    postgres,
    statements: new RecordedStatements(postgres.api),
    workspaceId,
    runs: mode.quick ? 5 : 20,
  };
  const before = await sequentialScans(server);
  const rows: Row[] = [];
  for (const [name, filter] of historyFilters(Date.now())) {
    mode.say(`history, ${name}`);
    for (const by of ['time', 'duration'] as const) rows.push(await measureList(reading, { name, filter, by }));
  }
  for (const groupBy of [['tool'], ['user'], ['status'], ['time'], ['tool', 'time']] as const) {
    rows.push(await measureStats(reading, groupBy));
  }
  await prisma.close();
  await postgres.close();
  const scans = (await sequentialScans(server)) - before;
  const worst = (what: string, column: string) =>
    Math.max(...rows.filter((row) => row['what'] === what).map((row) => Number(row[column])));
  return {
    rows,
    aims: [
      atMost('slowest page, p95', worst('list', 'p95ms'), [50, 'ms']),
      atMost('slowest count, p95', worst('list', 'countP95ms'), [50, 'ms']),
      atMost('slowest statistics of a day, p95', worst('stats', 'p95ms'), [300, 'ms']),
      atMost('sequential scans of the table', scans, [0, '']),
      atMost('plans with a sequential scan', rows.filter(({ plan }) => /Seq Scan/.test(String(plan))).length, [0, '']),
    ],
  };
}

interface ListCase {
  readonly name: string;
  readonly filter: ToolCallFilter;
  readonly by: ToolCallOrder['by'];
}

/** The first page, the page after it and the count; each as often, in turn. */
async function measureList(reading: Reading, { name, filter, by }: ListCase): Promise<Row> {
  const { history: repository, workspaceId, runs } = reading;
  const query = { workspaceId, filter, order: { by, direction: 'desc' }, limit: PAGE } as const;
  const [pages, counts]: [number[], number[]] = [[], []];
  reading.statements.take();
  const first = await repository.page({ ...query, after: null }); // warms up what a busy server has warm
  const statements = reading.statements.take();
  for (let run = 0; run < runs; run++) {
    pages.push(await timeOf(() => repository.page({ ...query, after: null })));
    if (first.next !== null) pages.push(await timeOf(() => repository.page({ ...query, after: first.next })));
    counts.push(await timeOf(() => repository.count(workspaceId, filter, by)));
  }
  const { count, isExact } = await repository.count(workspaceId, filter, by);
  const isShort = first.next !== null && first.rows.length < PAGE;
  return {
    ...{ what: 'list', filter: name, by, p50ms: rounded(median(pages)), p95ms: rounded(percentile(pages, 95)) },
    ...{ rows: first.rows.length, short: isShort ? 'short' : '', countP95ms: rounded(percentile(counts, 95)) },
    ...{ counted: `${isExact ? '' : '>= '}${count}`, plan: await planOf(reading, statements) },
  };
}

async function measureStats(reading: Reading, groupBy: readonly StatsDimension[]): Promise<Row> {
  const { stats, workspaceId, runs } = reading;
  const filter = { createdAfter: Date.now() - DAY_MS };
  const read = () => stats.read(workspaceId, filter, { groupBy, bucket: 'hour' });
  reading.statements.take();
  const { groups } = await read();
  const statements = reading.statements.take();
  const times: number[] = [];
  for (let run = 0; run < runs; run++) times.push(await timeOf(read));
  return {
    ...{ what: 'stats', filter: 'time, a day', by: groupBy.join(' and '), p50ms: rounded(median(times)) },
    ...{ p95ms: rounded(percentile(times, 95)), rows: groups.length, short: '', countP95ms: null },
    ...{
      counted: String(groups.reduce((sum, group) => sum + group.count, 0)),
      plan: await planOf(reading, statements),
    },
  };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** What the last statement scans, which is the one that reads the page, and any sequential scan before it. */
async function planOf(
  { postgres, workspaceId, statements }: Reading,
  sent: readonly { text: string; values: readonly unknown[] }[],
) {
  const scans: (readonly string[])[] = [];
  for (const statement of sent)
    scans.push(await plansOf(postgres, workspaceId, { settings: FORCE_INDEX_ORDER, statement }));
  statements.take();
  const bad = scans.flat().filter((scan) => scan.startsWith('Seq Scan'));
  return [...new Set([...bad, ...(scans.at(-1) ?? [])])].join(', ').replaceAll('tool_call_', '');
}

/** The number of sequential scans, including those within functions, which no plan shows. */
async function sequentialScans(server: BenchPostgres): Promise<number> {
  const client = new pg.Client({ connectionString: ownerUrl(server) });
  await client.connect();
  try {
    const { rows } = await client.query<{ seq_scan: string }>(
      `SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'tool_call'`,
    );
    return Number(rows[0]?.seq_scan);
  } finally {
    await client.end();
  }
}

async function measureCosts(server: BenchPostgres, mode: BenchMode): Promise<Row[]> {
  const rows: Row[] = [];
  for (const isBare of [true, false]) {
    mode.say(isBare ? 'history, writing without it' : 'history, writing with it');
    const wanted = { url: server.urls.owner, template: DATABASE, isBare, calls: mode.quick ? 5_000 : 20_000 };
    for (const [how, cost] of Object.entries(await measureWrites(server.admin, wanted))) {
      const { cpuMicroseconds, walBytes } = cost;
      rows.push({
        what: 'write',
        filter: isBare ? 'without the history' : 'with it',
        by: how,
        cpuUs: rounded(cpuMicroseconds),
        walBytes: rounded(walBytes),
      });
    }
  }
  return rows;
}
