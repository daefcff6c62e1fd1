import pg from 'pg';

import { cpuOf } from '../measure/process-cpu.js';

/** What one call cost to write. */
export interface WriteCost {
  readonly cpuMicroseconds: number;
  readonly walBytes: number;
}

/** `once`: written with its result, as rounds of pure tools are. `settled`: written when it starts, changed when it has ended. */
export type WriteMode = 'once' | 'settled';

const BATCH = 50;
const copied = [
  ...[
    'workspace_id',
    'round',
    'ordinal',
    'name',
    'arguments',
    'effect',
    'idem_key',
    'created_at',
    'started_at',
    'finished_at',
  ],
  ...['approval', 'created_by', 'decided_by', 'runtime', 'thread_id'],
];
const ended = ['status', 'result', 'error', 'duration_ms', 'result_bytes'];

const keys = `ARRAY(SELECT tool_call_key(s.seed, c) FROM (SELECT tool_call_seed(workspace_id, tool_call_day(new_id)) AS seed OFFSET 0) s,
  unnest(ARRAY['["to","' || n || '"]', '["city","city ' || n % 100 || '"]', '["n",' || n || ']', '["options","lang","en"]',
               '["options","tags",0,"a"]', '["options","tags",1,"b"]']) AS c)`;

/**
 * Measures on a database of its own, a copy of `template`; for `isBare` what the history needs is dropped there. Without full pages
 * in the log: how many there are depends on the last checkpoint, not on the calls.
 */
export async function measureWrites(
  admin: pg.Client,
  {
    url,
    template,
    isBare,
    calls,
  }: { readonly url: string; readonly template: string; readonly isBare: boolean; readonly calls: number },
): Promise<Record<WriteMode, WriteCost>> {
  await admin.query(`CREATE DATABASE write_cost TEMPLATE ${template} STRATEGY file_copy`);
  await admin.query('ALTER SYSTEM SET full_page_writes = off');
  await admin.query('SELECT pg_reload_conf()');
  const target = new URL(url);
  target.pathname = '/write_cost';
  const client = new pg.Client({ connectionString: target.toString() });
  await client.connect();
  try {
    if (isBare) await dropHistory(client);
    await client.query(`SET session_replication_role = replica; CREATE UNLOGGED TABLE sample AS
      SELECT row_number() OVER () - 1 AS n, t.*, uuidv7() AS new_id FROM (SELECT * FROM tool_call TABLESAMPLE SYSTEM (10) LIMIT ${calls}) t;
      CREATE INDEX ON sample (n); ANALYZE sample`);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const pid = rows[0]?.pid ?? 0;
    const once = await measure(client, { mode: 'once', pid, calls, isBare });
    return { once, settled: await measure(client, { mode: 'settled', pid, calls, isBare }) };
  } finally {
    await client.end();
    await admin.query('DROP DATABASE write_cost WITH (FORCE)');
    await admin.query('ALTER SYSTEM RESET full_page_writes');
    await admin.query('SELECT pg_reload_conf()');
  }
}

interface Run {
  readonly mode: WriteMode;
  readonly pid: number;
  readonly calls: number;
  readonly isBare: boolean;
}

async function measure(client: pg.Client, { mode, pid, calls, isBare }: Run): Promise<WriteCost> {
  await client.query('UPDATE sample SET new_id = uuidv7()');
  await client.query('VACUUM sample');
  const insert = insertSql(mode, isBare);
  const before = await markOf(client, pid);
  for (let first = 0; first < calls; first += BATCH) {
    await client.query({ name: `insert-${mode}`, text: insert, values: [first, first + BATCH] });
    if (mode === 'settled') await client.query({ name: 'settle', text: settleSql, values: [first, first + BATCH] });
  }
  const after = await markOf(client, pid);
  return {
    cpuMicroseconds: ((after.cpuMs - before.cpuMs) * 1_000) / calls,
    walBytes: (after.wal - before.wal) / calls,
  };
}

function insertSql(mode: WriteMode, isBare: boolean): string {
  const end = mode === 'once' ? ended.join(', ') : `'running', NULL::text, NULL::jsonb, NULL::int, NULL::int`;
  const [keyColumn, keyValue] = isBare ? ['', ''] : [', argument_keys', `, ${keys}`];
  return `INSERT INTO tool_call (id, job_id, call_id, ${copied.join(', ')}, ${ended.join(', ')}${keyColumn})
    SELECT new_id, new_id, '${mode}' || n, ${copied.join(', ')}, ${end}${keyValue} FROM sample WHERE n >= $1 AND n < $2`;
}

const settleSql = `UPDATE tool_call t SET ${ended.map((column) => `${column} = s.${column}`).join(', ')}
  FROM sample s WHERE s.n >= $1 AND s.n < $2 AND t.workspace_id = s.workspace_id AND t.id = s.new_id`;

async function markOf(client: pg.Client, pid: number): Promise<{ readonly cpuMs: number; readonly wal: number }> {
  const { rows } = await client.query<{ wal: string }>(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal`);
  return { cpuMs: cpuOf(pid), wal: Number(rows[0]?.wal) };
}

/** As it was before there was a history. */
async function dropHistory(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes WHERE tablename = 'tool_call' AND indexname ~ '^tool_call_(by_|open)'`,
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  await client.query('ALTER TABLE tool_call DROP COLUMN outcome');
}
