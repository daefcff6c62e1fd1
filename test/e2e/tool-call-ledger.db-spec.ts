import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { newId, systemClock } from '#platform';
import {
  executeToolCall,
  keepOutputRow,
  newCallRow,
  settleCallRow,
  startCallRow,
  toKeptResult,
  type Tool,
  ToolOutputsRepository,
} from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import type { ClaimedJob } from '../../libs/jobs/src/run/lease.repository.js';
import { pageOf } from '../../libs/tools/src/outputs/page-of.js';
import { ReadToolOutput } from '../../libs/tools/src/outputs/read-tool-output.tool.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';

let database: TestDatabase;
let jobs: TestJobs;
let outputs: ToolOutputsRepository;
let tool: Tool;

beforeAll(async () => {
  database = await createTestDatabase();
  jobs = await openTestJobs(database);
  outputs = new ToolOutputsRepository(database.prisma);
  tool = new ReadToolOutput(outputs).tool;
});
afterAll(async () => {
  await jobs.close();
  await database.close();
});

async function claimed(threadId: string | null = null): Promise<ClaimedJob> {
  const [started] = await jobs.start(1);
  const job = await jobs.claim(started?.jobId ?? '');
  if (threadId === null) return job;
  await database.postgres.withWorkspaceSql(jobs.workspaceId, async (client) => {
    const values = [jobs.workspaceId, threadId, jobs.userId];
    await client.query(
      'INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      values,
    );
    await client.query('UPDATE job SET thread_id = $2 WHERE id = $1', [job.jobId, threadId]);
  });
  return job;
}

async function commit(job: ClaimedJob, number: number, rows: Parameters<typeof writeOf>[2]): Promise<unknown> {
  const [written] = await jobs.app.get(EventLogRepository).commit([writeOf(job, number, rows)]);
  return written;
}

describe('tool call ledger', () => {
  const pending = {
    callId: 'call_1',
    name: 'add',
    arguments: '{"a":1}',
    effect: 'pure',
    status: 'pending',
    result: null,
    error: null,
    ranMs: null,
  } as const;

  interface Row {
    readonly status: string;
    readonly thread_id: string | null;
    readonly created_by: string | null;
    readonly runtime: string;
    readonly duration_ms: number | null;
    readonly result_bytes: number | null;
  }

  const store = async (...write: Parameters<typeof commit>) => {
    expect(await commit(...write)).not.toBeInstanceOf(Error);
  };
  const rowsOf = (job: ClaimedJob) =>
    jobs.rows<Row>(
      `SELECT status, thread_id, created_by, runtime, duration_ms, result_bytes FROM tool_call WHERE job_id = $1 ORDER BY ordinal`,
      [job.jobId],
    );

  it('stores thread and user of the job, so that lists of calls need no join', async () => {
    const threadId = newId();
    const job = await claimed(threadId);
    await jobs.rows('UPDATE job SET created_by = $2 WHERE id = $1', [job.jobId, jobs.userId]);
    await store(job, 1, { rows: [newCallRow(job, 1, { ...pending, ordinal: 1 })] });
    expect(await rowsOf(job)).toEqual([
      expect.objectContaining({ created_by: jobs.userId, thread_id: threadId, runtime: 'server', duration_ms: null }),
    ]);
  });

  it('stores hashes of argument values, bound to workspace and day', async () => {
    const job = await claimed();
    await store(job, 1, {
      rows: [
        newCallRow(job, 1, { ...pending, ordinal: 1, arguments: '{"to":"ada","list":[7]}' }),
        newCallRow(job, 1, { ...pending, ordinal: 2, callId: 'call_2', arguments: '{}' }),
      ],
    });
    const rows = await jobs.rows<{ keys: string[] | null; expected: string[] }>(
      `SELECT argument_keys AS keys, ARRAY[tool_call_key(tool_call_seed(workspace_id, tool_call_day(id)), '["to","ada"]'),
              tool_call_key(tool_call_seed(workspace_id, tool_call_day(id)), '["list",0,7]')] AS expected
         FROM tool_call WHERE job_id = $1 ORDER BY ordinal`,
      [job.jobId],
    );
    expect(rows[0]?.keys).toEqual(rows[0]?.expected);
    expect(rows[1]?.keys).toBeNull();
  });

  it('stores duration and result size of calls that are written at once or settled later', async () => {
    const job = await claimed();
    const ran = { ...pending, status: 'completed', result: 'é', ranMs: 7, runtime: 'mcp' } as const;
    await store(job, 1, {
      rows: [
        newCallRow(job, 1, { ...ran, ordinal: 1 }),
        newCallRow(job, 1, { ...ran, ordinal: 2, callId: 'call_2', resultBytes: 900 }),
        newCallRow(job, 1, { ...pending, ordinal: 3, callId: 'call_3' }),
        newCallRow(job, 1, { ...pending, ordinal: 4, callId: 'call_4' }),
      ],
    });
    await store(job, 2, { rows: [startCallRow(job, { round: 1, ordinal: 3 })] });
    const failure = { phase: 'execution', message: 'no' } as const;
    await store(job, 3, {
      rows: [
        settleCallRow(job, { round: 1, ordinal: 3 }, { status: 'completed', result: 'abc', resultBytes: 5_000 }),
        settleCallRow(job, { round: 1, ordinal: 4 }, { status: 'cancelled', failure }),
      ],
    });
    expect(await rowsOf(job)).toEqual([
      expect.objectContaining({ runtime: 'mcp', duration_ms: 7, result_bytes: 2 }),
      expect.objectContaining({ runtime: 'mcp', duration_ms: 7, result_bytes: 900 }),
      expect.objectContaining({ status: 'completed', duration_ms: expect.any(Number), result_bytes: 5_000 }),
      expect.objectContaining({ status: 'cancelled', duration_ms: null, result_bytes: null }),
    ]);
  });
});

const text = '0123456789'.repeat(30_000);
const kept = toKeptResult(text, 'call_1');
const all = { offset: 0, length: text.length };
const call = { ordinal: 1, callId: 'call_1', name: 'big', arguments: '{}', effect: 'once', error: null } as const;
const running = { ...call, status: 'running', result: null, ranMs: null } as const;

/** A job whose one call has ended with the large result. */
async function settled(threadId: string | null = null): Promise<ClaimedJob> {
  const job = await claimed(threadId);
  const place = { round: 1, ordinal: 1 };
  await commit(job, 1, { rows: [newCallRow(job, 1, running)] });
  const settlement = { status: 'completed', result: kept.durable, resultBytes: kept.bytes } as const;
  await commit(job, 2, { rows: [settleCallRow(job, place, settlement), keepOutputRow(job, place, kept.whole ?? '')] });
  return job;
}

async function read(job: ClaimedJob, args: object, changes: object = {}): Promise<string> {
  const { workspaceId, jobId, threadId, principal, epoch } = job;
  const context = { workspaceId, jobId, threadId, principal, callId: 'c', idempotencyKey: 'k', epoch, ...changes };
  const rest = { signal: new AbortController().signal, now: () => 0, progress: () => undefined };
  const run = { tool, arguments: JSON.stringify(args), context: { ...context, ...rest } };
  return (await executeToolCall({ ...run, defaultTimeoutMs: 10_000, clock: systemClock })).modelText;
}

describe('stored output of a tool call', () => {
  it('keeps a large result whole in the commit that settles its call, and returns pages of it', async () => {
    const job = await settled();
    const rows = await jobs.rows<{ result: string; result_bytes: number; bytes: number; whole: boolean }>(
      `SELECT c.result, c.result_bytes, o.bytes, o.text = $2 AS whole FROM tool_call c JOIN tool_output o ON o.tool_call_id = c.id
        WHERE c.job_id = $1`,
      [job.jobId, text],
    );
    expect(rows).toEqual([{ result: kept.durable, result_bytes: 300_000, bytes: 300_000, whole: true }]);
    expect(await read(job, { call_id: 'call_1', offset: 299_995 })).toBe(
      '56789\n[characters 299995 to 300000 of 300000, the end]',
    );
    expect(await read(job, { call_id: 'call_1', length: 3 })).toBe(
      '012\n[characters 0 to 3 of 300000, continue at offset 3]',
    );
  });

  it('keeps the result of a call that the same commit inserts', async () => {
    const job = await claimed();
    const id = newId();
    const row = { ...call, id, status: 'completed', result: kept.durable, resultBytes: kept.bytes, ranMs: 5 } as const;
    const written = await commit(job, 1, { rows: [newCallRow(job, 1, row), keepOutputRow(job, { id }, text)] });
    expect(written).not.toBeInstanceOf(Error);
    expect(await outputs.read(job, 'call_1', all)).toEqual({ text, from: 0, total: text.length });
  });

  it('keeps the result of a call that another transaction settles', async () => {
    const job = await claimed();
    const id = newId();
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...running, id })] });
    await database.prisma.withWorkspace(jobs, (tx) => outputs.keep(tx, { ...job, id }, text));
    expect(await outputs.read(job, 'call_1', all)).toEqual({ text, from: 0, total: text.length });
  });

  it('discards the result with the rest of the commit when the lease was lost', async () => {
    const job = await claimed();
    await commit(job, 1, { rows: [newCallRow(job, 1, running)] });
    await jobs.expire(job.jobId);
    await jobs.claim(job.jobId, 'another worker');
    await commit(job, 2, { rows: [keepOutputRow(job, { round: 1, ordinal: 1 }, text)] });
    expect(await outputs.read(job, 'call_1', all)).toBeNull();
  });

  it('returns the result only to its job and its thread', async () => {
    const threadId = newId();
    const first = await settled(threadId);
    await jobs.app.get(EventLogRepository).commit([endOf(first, 3)]);
    const next = await claimed(threadId);
    const stranger = await claimed(newId());
    const asked = { call_id: 'call_1', length: 2 };
    expect(await read(first, asked)).toContain('01\n');
    expect(await read(next, asked, { threadId })).toContain('01\n');
    const refusal =
      'Error executing tool "read_tool_output": no result of a call "call_1" is kept in this job or thread';
    expect(await read(stranger, asked)).toBe(refusal);
    expect(await read(stranger, asked, { threadId: newId() })).toBe(refusal);
    expect(await read(next, asked, { threadId, workspaceId: newId() })).toBe(refusal);
  });

  it('returns a small result from the ledger row', async () => {
    const job = await claimed();
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...call, status: 'completed', result: 'small', ranMs: 1 })] });
    expect(await read(job, { call_id: 'call_1' })).toBe('small\n[characters 0 to 5 of 5, the end]');
    expect(await read(job, { call_id: 'call_1', offset: -1 })).toContain('invalid arguments');
  });

  it('cuts pages in Postgres, between characters of any size', async () => {
    const job = await claimed();
    const id = newId();
    const mixed = ' a é€ 😀 😀😀  b\u{10ffff} '.repeat(20);
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...running, id })] });
    await database.prisma.withWorkspace(jobs, (tx) => outputs.keep(tx, { ...job, id }, mixed));
    for (let offset = 0; offset <= mixed.length; offset++) {
      const page = await read(job, { call_id: 'call_1', offset, length: 7 });
      expect(page).toBe(pageOf({ text: mixed, from: 0, total: mixed.length }, offset, 7));
    }
  });

  it('reads a page without a scan of the ledger and without the rest of the result', async () => {
    const threadId = newId();
    const job = await settled(threadId);
    await jobs.app.get(EventLogRepository).commit([endOf(job, 3)]);
    await crowd();
    const asked = jest.spyOn(database.prisma, 'queryInWorkspace');
    const answers = [
      await outputs.read({ ...job, threadId }, 'call_1', { offset: 100, length: 50 }),
      await outputs.read({ ...job, jobId: newId(), threadId }, 'call_1', { offset: 100, length: 50 }),
    ];
    const [, statement] = asked.mock.calls[0] ?? [];
    asked.mockRestore();
    const expected = { text: text.slice(99, 151), from: 99, total: text.length };
    expect(answers).toEqual([expected, expected]);
    const plan = await planOf(statement?.text ?? '', statement?.values ?? []);
    expect(plan).toContain('tool_call_by_thread');
    expect(plan).toContain('tool_call_workspace_id_job_id_round_ordinal_key');
    expect(plan).not.toMatch(/Seq Scan on tool_call|tool_call_pkey/);
  });
});

/** Five thousand calls of another job of the workspace. */
async function crowd(): Promise<void> {
  const { jobId } = await claimed();
  await database.postgres.withWorkspaceSql(jobs.workspaceId, (client) =>
    client.query(
      `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, result, idem_key)
       SELECT $1, gen_random_uuid(), $2, i, 1, 'call_1', 'big', '{}', 'once', 'completed', 'x', i::text FROM generate_series(1, 5000) AS i`,
      [jobs.workspaceId, jobId],
    ),
  );
  await jobs.rows('ANALYZE tool_call', []);
}

async function planOf(statement: string, values: readonly unknown[]): Promise<string> {
  return database.postgres.withWorkspaceSql(jobs.workspaceId, async (client) => {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${statement}`, [...values]);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
}
