import type pg from 'pg';

/** What a history of calls looks like that was made up for measuring. */
export interface SeededHistory {
  readonly calls: number;
  /** The workspace with four fifths of all calls. */
  readonly workspaceId: string;
}

const DAYS = 90;
const WORKSPACES = 20;

/** Of workspace, user, thread and workflow `n`. */
export function seededId(kind: 'workspace' | 'user' | 'thread' | 'workflow', n: number): string {
  const place = { workspace: 1, user: 2, thread: 3, workflow: 4 }[kind];
  return `0000000${place}-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

/**
 * Nothing is spread evenly: few tools, users and values make up most of the calls, and more happens every day. What is
 * correlated in life is so here: each tool has its own speed, one was given up long ago, one user calls one tool only.
 */
const rowsSql = `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key, result, error,
    created_at, started_at, finished_at, approval, created_by, decided_by, duration_ms, result_bytes, runtime, thread_id, workflow_id, argument_keys)
SELECT ws, id, job_id, 1, n % 3 + 1, 'call_' || n, name, arguments, 'pure', status, job_id || ':1:' || n % 3 + 1,
  CASE WHEN status = 'completed' THEN rpad('{"rows":[', 120 + (900 * c * c)::int, md5(n::text)) END, error,
  to_timestamp(ms / 1000), to_timestamp(ms / 1000), CASE WHEN status <> 'running' THEN to_timestamp((ms + duration) / 1000) END,
  CASE WHEN e < 0.006 THEN 'person' END, created_by, CASE WHEN e < 0.006 THEN 'user:' || pg_temp.fixed_id(2, n % 7) END,
  CASE WHEN status IN ('completed', 'error', 'timed_out') THEN duration END, CASE WHEN status = 'completed' THEN 120 + (900 * c * c)::int END,
  runtime, thread_id, CASE WHEN d < 0.002 THEN pg_temp.fixed_id(4, n % 5) END,
  ARRAY(SELECT tool_call_key(s.seed, k) FROM (SELECT tool_call_seed(ws, tool_call_day(id)) AS seed OFFSET 0) s,
    unnest(ARRAY['["to","' || recipient || '"]', '["city","city ' || city || '"]', '["n",' || amount || ']', '["options","lang","' || lang || '"]',
                 '["options","tags",0,"a"]', '["options","tags",1,"b"]']) AS k)
FROM (SELECT *, pg_temp.id_at(ms::bigint, n) AS id, pg_temp.id_at((ms - 50)::bigint, n / 3 * 3) AS job_id,
    '{"to":"' || recipient || '","city":"city ' || city || '","n":' || amount || ',"options":{"lang":"' || lang || '","tags":["a","b"]}}' AS arguments,
    CASE WHEN status = 'timed_out' THEN jsonb_build_object('phase', 'timeout', 'message', 'Handler timeout after 10000ms')
         WHEN status = 'error' AND b < 0.001 THEN jsonb_build_object('phase', 'execution', 'code', 'quota', 'message', 'Quota of project p' || n % 977 || ' is used up')
         WHEN status = 'error' AND b < 0.3 THEN jsonb_build_object('phase', 'validation', 'message', 'Tool "' || name || '" got arguments that do not fit: /to must be string')
         WHEN status = 'error' THEN jsonb_build_object('phase', 'execution', 'message', 'Tool "' || name || '" failed: connect ECONNREFUSED 10.0.' || n % 250 || '.7 host' || n % 1999)
         WHEN status NOT IN ('completed', 'running') THEN jsonb_build_object('phase', 'execution', 'message', 'Tool execution ' || status) END AS error
  FROM (SELECT *,
      CASE WHEN name LIKE 'made_up%' THEN 'skipped' WHEN a < 0.92 THEN 'completed' WHEN a < 0.96 THEN 'error' WHEN a < 0.965 THEN 'timed_out' WHEN a < 0.983 THEN 'skipped'
           WHEN a < 0.986 THEN 'denied' WHEN a < 0.9985 THEN 'cancelled' WHEN a < 0.999 THEN 'interrupted' WHEN a < 0.9991 THEN 'running' ELSE 'completed' END AS status,
      (exp(2 + 3 * b) * (1 + tool % 7))::int + CASE WHEN c > 0.999 THEN 60000 ELSE 0 END AS duration,
      CASE WHEN name LIKE 'crm.%' THEN 'mcp' WHEN tool BETWEEN 30 AND 39 THEN 'http' WHEN tool = 29 THEN 'client' ELSE 'server' END AS runtime,
      pg_temp.fixed_id(2, usr) AS created_by, pg_temp.fixed_id(3, usr * 1000 + n / 20000) AS thread_id,
      'user' || floor(d * 200000) || '@example.com' AS recipient, floor(100 * c * c)::int AS city, floor(e * 1e6)::int AS amount,
      (ARRAY['en', 'de', 'fr'])[1 + floor(b * 3)::int] AS lang
    FROM (SELECT *, CASE WHEN n < total * 0.2 AND a < 0.5 THEN 'retired' WHEN usr = 399 THEN 'private' WHEN tool < 40 THEN 'tool_' || tool
                         WHEN tool < 60 THEN 'crm.call_' || tool ELSE 'made_up_' || n % 300 END AS name
      FROM (SELECT n, $2::float8 AS total, pg_temp.fixed_id(1, CASE WHEN n % 5 < 4 THEN 1 ELSE 2 + n / 5 % ${WORKSPACES - 1} END) AS ws,
          extract(epoch FROM now())::float8 * 1000 - ${DAYS} * 86400000::float8 * power(1 - n / ($2::float8 + 1), 1.6::float8) AS ms,
          random() a, random() b, random() c, random() d, random() e,
          floor(62 * power(random(), 2.5::float8))::int AS tool, floor(400 * power(random(), 3::float8))::int AS usr
        FROM generate_series($1::bigint, $1::bigint + $3::bigint - 1) n) drawn) named) typed) made`;

const helpersSql = `
CREATE FUNCTION pg_temp.id_at(ms bigint, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
  RETURN (lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid;
CREATE FUNCTION pg_temp.fixed_id(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
  RETURN ('0000000' || kind || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid;`;

const BATCH = 50_000;

/** Fills an empty, migrated database. Indexes are made afterwards, which is what a big load would do. */
export async function seedCalls(admin: pg.Client, calls: number, say: (text: string) => void): Promise<SeededHistory> {
  await admin.query(
    `SET session_replication_role = replica; SET synchronous_commit = off; SELECT setseed(0.42); ${helpersSql}`,
  );
  await admin.query(
    `INSERT INTO workspace (id, name) SELECT pg_temp.fixed_id(1, n), 'workspace ' || n FROM generate_series(1, ${WORKSPACES}) n`,
  );
  const { rows: indexes } = await admin.query<{ name: string; make: string }>(
    `SELECT indexname AS name, indexdef AS make FROM pg_indexes WHERE tablename = 'tool_call' AND indexname LIKE 'tool_call_by%'`,
  );
  for (const { name } of indexes) await admin.query(`DROP INDEX ${name}`);
  for (let first = 0; first < calls; first += BATCH) {
    say(`seeding calls: ${first} of ${calls}`);
    await admin.query(rowsSql, [first, calls, Math.min(BATCH, calls - first)]);
  }
  say('making indexes');
  for (const { make } of indexes) await admin.query(make);
  await admin.query('RESET session_replication_role');
  await admin.query('VACUUM ANALYZE tool_call');
  return { calls, workspaceId: seededId('workspace', 1) };
}
