import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { newId, TOOL_QUEUES } from '#platform';
import { OpenStreams } from '#platform/api';

import { DeadLetters } from '../../libs/tools/src/remote/dead-letters.js';
import { ExecClaimsRepository } from '../../libs/tools/src/remote/exec-claims.repository.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { type ManyCalls, openManyCalls } from '../harness/many-calls.js';
import { idAt, insertCalls } from '../harness/tool-call-history.js';
import { sendCalls, type SentCall } from '../harness/tool-queue.js';

interface Line {
  readonly type: string;
  readonly id?: string;
  readonly count?: number;
  readonly error?: { readonly reason: string | null } | null;
}

describe('export of tool calls', () => {
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
        ...{
          type: 'tool_call',
          name: 'add',
          status: 'completed',
          durationMs: 60,
          createdAt: '2026-11-20T18:00:00.000Z',
        },
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

    it('reads rows only as fast as its client', async () => {
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

    it('ends without its last line when its caller loses access', async () => {
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
});

interface Letters {
  readonly nodes: readonly { readonly id: string; readonly reason: string; readonly canRedrive: boolean }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

describe('endpoints of the tool queue', () => {
  const list = `query ($first: Int, $after: String) { deadToolCalls(first: $first, after: $after) {
  nodes { id reason toolCallId jobId tool status canRedrive } pageInfo { hasNextPage endCursor } } }`;
  const redrive = `mutation ($id: ID!) { redriveToolCall(input: { id: $id }) {
  deadToolCall { toolCallId status canRedrive } userErrors { code message } } }`;
  const cancel = `mutation ($id: ID!) { cancelToolCall(input: { id: $id }) { state userErrors { code message } } }`;

  let database: TestDatabase;
  let api: TestApi;
  let acme: Awaited<ReturnType<TestApi['people']['workspaceOf']>>;
  let other: typeof acme;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await startTestApi(database, { takesJobs: false });
    [acme, other] = [await api.people.workspaceOf('acme'), await api.people.workspaceOf('other')];
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  const ask = async <Data>({ key }: TestMember, query: string, variables: object = {}): Promise<Data> => {
    const reply = await api.call('POST', '/graphql', { key, body: { query, variables } });
    const { data, errors } = reply.body as { data?: Data | null; errors?: unknown }; // GraphQL over HTTP
    if (data === undefined || data === null) throw new Error(JSON.stringify(errors ?? reply));
    return data;
  };
  const lettersOf = async (member: TestMember, variables: object = {}) =>
    (await ask<{ deadToolCalls: Letters | null }>(member, list, variables)).deadToolCalls;
  const sendOne = async (tool: string): Promise<SentCall> => {
    const [sent] = await sendCalls(api.api.app, acme.owner.principal.workspaceId, [tool]);
    if (sent === undefined) throw new Error('nothing was sent');
    return sent;
  };
  const bury = async ({ workspaceId, jobId, id }: SentCall) => {
    const message = { workspace_id: workspaceId, job_id: jobId, correlation_id: id, canary: 'not for people' };
    await api.api.app.get(DeadLetters).store(message, 'unreadable');
    const letters = await lettersOf(acme.owner);
    return letters?.nodes[0]?.id ?? '';
  };
  const claim = (sent: SentCall) =>
    api.api.app.get(ExecClaimsRepository).claim([{ ...sent, ttlMs: 60_000 }], 'a process');
  const requests = async () =>
    (
      await database.postgres.workerPool.query<{ id: string }>(
        `SELECT data->>'correlation_id' AS id FROM pgboss.job WHERE name = $1`,
        [TOOL_QUEUES.requests],
      )
    ).rows.map(({ id }) => id);
  const takeRequests = () =>
    database.postgres.workerPool.query('DELETE FROM pgboss.job WHERE name = $1', [TOOL_QUEUES.requests]);

  it('show dead letters only to operators of the workspace', async () => {
    const sent = await sendOne('once');
    await bury(sent);
    expect(await lettersOf(acme.admin)).toMatchObject({
      nodes: [
        {
          reason: 'UNREADABLE',
          toolCallId: sent.id,
          jobId: sent.jobId,
          tool: 'once',
          status: 'RUNNING',
          canRedrive: true,
        },
      ],
    });
    expect([await lettersOf(acme.member), await lettersOf(acme.viewer)]).toEqual([null, null]);
    expect(await lettersOf(other.owner)).toMatchObject({ nodes: [] });
    const rest = await api.call('GET', '/api/tool-queue/dead', { key: acme.owner.key });
    expect(rest.body).toMatchObject({
      deadToolCalls: [{ reason: 'unreadable', toolCallId: sent.id }],
      nextCursor: null,
    });
    expect(JSON.stringify(rest.body)).not.toContain('not for people');
    expect((await api.call('GET', '/api/tool-queue/dead', { key: acme.member.key })).status).toBe(404);
  });

  it('list dead letters in pages, newest first', async () => {
    for (const tool of ['pure', 'idempotent']) await bury(await sendOne(tool));
    const all = await lettersOf(acme.owner);
    const first = await lettersOf(acme.owner, { first: 2 });
    const rest = await lettersOf(acme.owner, { first: 2, after: first?.pageInfo.endCursor });
    expect(first?.pageInfo.hasNextPage).toBe(true);
    expect([...(first?.nodes ?? []), ...(rest?.nodes ?? [])]).toEqual(all?.nodes);
    const page = await api.call('GET', '/api/tool-queue/dead?limit=2', { key: acme.owner.key });
    const { nextCursor } = page.body as { nextCursor: string };
    const last = await api.call('GET', `/api/tool-queue/dead?limit=2&after=${nextCursor}`, { key: acme.owner.key });
    expect(last.body).toMatchObject({ deadToolCalls: [{ id: all?.nodes[2]?.id }], nextCursor: null });
    expect((await api.call('GET', '/api/tool-queue/dead?limit=0', { key: acme.owner.key })).status).toBe(400);
  });

  it('continue a list of dead letters after a letter that was removed', async () => {
    for (const tool of ['pure', 'idempotent', 'once']) await bury(await sendOne(tool));
    const all = await lettersOf(acme.owner);
    const first = await lettersOf(acme.owner, { first: 2 });
    await api.api.app.get(DeadLetters).remove(first?.nodes[1]?.id ?? '');
    const rest = await lettersOf(acme.owner, { first: 10, after: first?.pageInfo.endCursor });
    expect(rest?.nodes).toEqual(all?.nodes.slice(2));
  });

  it('redrive an unclaimed call once and remove its dead letter', async () => {
    const sent = await sendOne('once');
    const letter = await bury(sent);
    await takeRequests();
    const { redriveToolCall } = await ask<{ redriveToolCall: object }>(acme.admin, redrive, { id: letter });
    expect(redriveToolCall).toEqual({
      deadToolCall: { toolCallId: sent.id, status: 'RUNNING', canRedrive: true },
      userErrors: [],
    });
    expect(await requests()).toEqual([sent.id]);
    expect(await ask(acme.admin, redrive, { id: letter })).toMatchObject({
      redriveToolCall: { deadToolCall: null, userErrors: [{ code: 'not_found' }] },
    });
    const { rows } = await database.postgres.withWorkspaceSql(sent.workspaceId, (client) =>
      client.query('SELECT actor, action, subject_id FROM audit_entry WHERE subject_id = $1', [sent.id]),
    );
    expect(rows).toEqual([{ actor: acme.admin.principal.id, action: 'tool-call-redriven', subject_id: sent.id }]);
  });

  it('redrive no call that has ended, runs, or was started and may run once', async () => {
    const [ended, running, lost, lostPure] = [
      await sendOne('pure'),
      await sendOne('pure'),
      await sendOne('once'),
      await sendOne('pure'),
    ];
    await takeRequests();
    for (const sent of [running, lost, lostPure]) await claim(sent);
    const { workerPool } = database.postgres;
    await workerPool.query(`UPDATE tool_call SET status = 'error', finished_at = now() WHERE id = $1`, [ended.id]);
    await workerPool.query(`UPDATE tool_call SET exec_until = now() - interval '1 s' WHERE id = ANY($1)`, [
      [lost.id, lostPure.id],
    ]);
    const answers = [];
    for (const sent of [ended, running, lost, lostPure]) {
      const id = await bury(sent);
      const reply = await api.call('POST', `/api/tool-queue/dead/${id}/redrive`, { key: acme.owner.key });
      answers.push([reply.status, (reply.body as { error?: string }).error]);
    }
    expect(answers).toEqual([
      [409, 'This call cannot be sent again: its call has ended as error'],
      [409, 'This call cannot be sent again: its call runs'],
      [409, 'This call cannot be sent again: its call was started and may run once only'],
      [200, undefined],
    ]);
    expect(await requests()).toEqual([lostPure.id]);
  });

  it('redrive nothing for users who do not operate the workspace', async () => {
    const letter = await bury(await sendOne('pure'));
    const errors = [];
    for (const member of [acme.member, acme.viewer, other.owner]) {
      const answer = await ask<{ redriveToolCall: { userErrors: { code: string }[] } }>(member, redrive, {
        id: letter,
      });
      errors.push(answer.redriveToolCall.userErrors[0]?.code);
    }
    expect(errors).toEqual(['not_found', 'not_found', 'not_found']);
    expect(await ask(acme.owner, redrive, { id: newId() })).toMatchObject({
      redriveToolCall: { userErrors: [{ code: 'not_found' }] },
    });
  });

  it('cancel a call for users who may cancel its job', async () => {
    const [sent, taken] = [await sendOne('once'), await sendOne('once')];
    await claim(taken);
    const path = `/api/tool-queue/calls/${sent.id}/cancel`;
    const refused = await Promise.all(
      [acme.member, acme.viewer, other.owner].map(({ key }) => api.call('POST', path, { key })),
    );
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 404]);
    expect(await ask(acme.admin, cancel, { id: sent.id })).toEqual({
      cancelToolCall: { state: 'CANCELLED', userErrors: [] },
    });
    expect(await ask(acme.admin, cancel, { id: sent.id })).toMatchObject({ cancelToolCall: { state: 'SETTLED' } });
    const env = { NIGHTSHIFT_URL: api.url, NIGHTSHIFT_KEY: acme.owner.key, TOOL_CALL_ID: taken.id };
    const script = documentExample('docs/tool-queue.md', 'cancel');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      env: { PATH: process.env['PATH'], ...env },
    });
    expect(JSON.parse(stdout)).toEqual({ state: 'stopping' });
  });
});
