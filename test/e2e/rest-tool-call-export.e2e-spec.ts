import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { OpenStreams } from '#platform/api';

import type { TestApi, TestMember } from '../harness/api.js';
import type { TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type ManyCalls, openManyCalls } from '../harness/many-calls.js';
import { idAt, insertCalls } from '../harness/tool-call-history.js';

interface Line {
  readonly type: string;
  readonly id?: string;
  readonly count?: number;
  readonly error?: { readonly reason: string | null } | null;
}

let database: TestDatabase;
let api: TestApi;
let here: ManyCalls['here'];
let made: ManyCalls;

beforeAll(async () => {
  made = await openManyCalls();
  ({ api, database, here } = made);
});

afterAll(async () => {
  await made.close();
});

const exported = (who: TestMember, query = '') =>
  fetch(`${api.url}/api/tool-calls/export${query}`, { headers: { authorization: `Bearer ${who.key}` } });
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
const idsOf = (lines: readonly Line[]) => lines.flatMap(({ id }) => id ?? []);

describe('GET /api/tool-calls/export', () => {
  it('returns a line for each call, newest first, and a last line with their number', async () => {
    const response = await exported(here.admin);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    const lines = linesOf(await response.text());
    expect(idsOf(lines)).toEqual(made.calls.map(({ id }) => id).reverse());
    expect(lines.at(-1)).toEqual({ type: 'end', count: 6 });
    expect(lines[0]).toMatchObject({
      ...{ type: 'tool_call', name: 'add', status: 'completed', durationMs: 60, createdAt: '2026-11-20T18:00:00.000Z' },
      ...{
        arguments: '{"to":"user6","n":6}',
        approvedArguments: null,
        result: `${'é'.repeat(20_000)}!`,
        resultBytes: 40_001,
      },
    });
  });

  it('applies the filters of the list', async () => {
    const { admin, member } = here;
    for (const [query, expected] of [
      [`?tool=crm.*&runtime=mcp,http`, [4, 2]],
      [`?status=error,running`, [5, 3]],
      [`?errorPhase=execution&errorCode=quota&errorText=blue`, [3]],
      [`?from=2026-11-20T14:00:00Z&to=2026-11-20T16:00:00Z`, [3, 2]],
      [`?minDurationMs=20&maxDurationMs=40`, [3, 2]],
      [`?argument=${encodeURIComponent('$.to = "user4"')}&argument=${encodeURIComponent('$.n = 4')}`, [4]],
      [`?user=${member.principal.userId}&thread=${made.threadId}&job=${made.secondJob}`, [5, 2]],
      [`?approver=${admin.principal.userId}`, [4]],
      [`?workflow=nothing`, []],
    ] as const) {
      const lines = linesOf(await (await exported(admin, query)).text());
      expect([query, idsOf(lines)]).toEqual([query, expected.map((n) => made.calls[n - 1]?.id)]);
    }
  });

  it('returns the executed arguments, and the proposed ones of an edited call', async () => {
    const id = await made.edit(4, '{"to":"user9"}');
    const line = linesOf(await (await exported(here.admin)).text()).find((one) => one.id === id);
    expect(line).toMatchObject({ arguments: '{"to":"user9"}', proposedArguments: '{"to":"user4","n":4}' });
  });

  it('shows the reason of a rejection only to callers who may read the policy', async () => {
    const reason = await made.block(2);
    const reasonFor = async (who: TestMember) =>
      linesOf(await (await exported(who)).text()).find(({ id }) => id === made.calls[1]?.id)?.error?.reason;
    expect([await reasonFor(here.admin), await reasonFor(here.member)]).toEqual([reason, null]);
  });

  it('rejects an unknown parameter before it sends anything', async () => {
    for (const [query, field] of [
      ['?tols=add', 'tols'],
      ['?status=done', 'status'],
      ['?from=yesterday', 'from'],
      ['?minDurationMs=-1', 'minDurationMs'],
      ['?argument=to', 'argument'],
      ['?tool=a&tool=b', 'tool'],
    ]) {
      const { status, body } = await api.call('GET', `/api/tool-calls/export${query ?? ''}`, { key: here.admin.key });
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(field ?? '')]);
    }
    expect((await api.call('GET', '/api/tool-calls/export')).status).toBe(401);
  });

  it('exports only permitted calls and writes an audit entry for administrators', async () => {
    const of = async (who: TestMember) => idsOf(linesOf(await (await exported(who, '?tool=*')).text())).length;
    const before = (await made.auditOf('tool-calls-exported')).length;
    expect([await of(here.owner), await of(here.member), await of(here.viewer), await of(made.stranger)]).toEqual([
      6, 2, 0, 0,
    ]);
    const entries = await made.auditOf('tool-calls-exported');
    expect(entries).toHaveLength(before + 1);
    expect(entries[0]).toMatchObject({ actor: here.owner.principal.id, details: { filter: { tool: '*' } } });
  });
});

describe('long tool call export', () => {
  let world: ManyCalls['here'];
  const COUNT = 3_000;

  beforeAll(async () => {
    world = await api.people.workspaceOf('large');
    const [example] = made.calls;
    if (example === undefined) throw new Error('no call to copy');
    const result = 'x'.repeat(20_000);
    for (let first = 0; first < COUNT; first += 500) {
      const job = { ...example, jobId: idAt(example.createdAt, COUNT + first), result };
      const calls = Array.from({ length: 500 }, (_, i) => ({ ...job, id: idAt(example.createdAt, first + i) }));
      await insertCalls(database, world.owner.principal.workspaceId, calls);
    }
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** An export that is begun and not read. */
  const begin = async (who: TestMember): Promise<IncomingMessage> => {
    const request = get(`${api.url}/api/tool-calls/export`, { headers: { authorization: `Bearer ${who.key}` } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  };
  const readAll = async (response: IncomingMessage) => {
    let text = '';
    for await (const chunk of response) text += String(chunk);
    return linesOf(text);
  };
  /** How often the api has gone to the database for rows of a workspace. */
  const countReads = () => {
    const { prisma } = api.platform;
    const read = prisma.withWorkspace.bind(prisma);
    const counter = { reads: 0 };
    jest.spyOn(prisma, 'withWorkspace').mockImplementation((...args) => {
      counter.reads += 1;
      return read(...args);
    });
    return counter;
  };

  it('reads no further than its client', async () => {
    const counter = countReads();
    const response = await begin(world.owner);
    let [seen, calm] = [0, 0];
    await eventually('the export waits for its reader', () => {
      [seen, calm] = [counter.reads, counter.reads === seen ? calm + 1 : 0];
      return calm > 20 ? true : undefined;
    });
    expect(seen).toBeLessThan(COUNT / 50 / 2);
    const lines = await readAll(response);
    expect([lines.length, lines.at(-1)]).toEqual([COUNT + 1, { type: 'end', count: COUNT }]);
    expect(new Set(idsOf(lines)).size).toBe(COUNT);
    expect(counter.reads).toBeGreaterThanOrEqual(COUNT / 50);
  });

  it('breaks off without its last line when the access ends', async () => {
    const key = await api.people.keyOf(world.admin.principal, ['read', 'admin']);
    const response = await begin(key);
    await api.auth.members.changeRole(world.owner.person, { userId: world.admin.principal.userId, role: 'viewer' });
    await expect(readAll(response)).rejects.toThrow('aborted');
  });

  it('releases its stream slot when its client leaves', async () => {
    const response = await begin(world.owner);
    const streams = api.api.app.get(OpenStreams);
    expect(streams.size).toBeGreaterThan(0);
    response.destroy();
    await eventually('no export is open', () => Promise.resolve(streams.size === 0 ? true : undefined));
  });
});
