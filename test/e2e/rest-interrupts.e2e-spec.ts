import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import type { Role } from '#auth';
import { newId } from '#platform';
import { ToolRegistry } from '#tools';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { layOutWaitingJob, makeSubJob, openInterrupt } from '../harness/interrupts.js';
import { chatBody, jobIdOf, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('/api/interrupts', () => {
  let database: TestDatabase;
  let test: TestApi;
  let here: Record<Role, TestMember>;
  let stranger: TestMember;
  let worlds = 0;

  beforeAll(async () => {
    database = await createTestDatabase();
    // No worker runs here, so resumed jobs stay queued.
    test = await startTestApi(database, { takesJobs: false });
    stranger = (await test.people.workspaceOf('elsewhere')).owner;
  });

  beforeEach(async () => {
    worlds += 1;
    here = await test.people.workspaceOf(`here${worlds}`);
  });

  afterAll(async () => {
    await test.close();
    await database.close();
  });

  const layOut = (threadRef?: string) => layOutWaitingJob(test.api.app, here.member.principal, threadRef);

  const get = (who: TestMember, path: string) => test.call('GET', `/api/interrupts${path}`, { key: who.key });

  const decide = (who: TestMember, id: string, body: unknown) =>
    test.call('POST', `/api/interrupts/${id}/decision`, { key: who.key, body });

  interface Page {
    readonly interrupts: readonly { readonly id: string }[];
    readonly nextCursor: string | null;
  }

  async function idsOf(who: TestMember, query: string): Promise<readonly string[]> {
    const { status, body } = await get(who, query);
    expect(status).toBe(200);
    return (body as Page).interrupts.map(({ id }) => id);
  }

  it('lists requests, newest first, by status, job, thread and kind', async () => {
    const [job, other] = [await layOut('my thread'), await layOut()];
    const a = await openInterrupt(test.api.app, job);
    const b = await openInterrupt(test.api.app, job, { kind: 'client_tool' });
    const c = await openInterrupt(test.api.app, other);
    // The job still waits for the client's.
    expect((await decide(here.member, a, { action: 'skip' })).status).toBe(200);
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ['', [c, b, a]],
      ['?status=open', [c, b]],
      ['?status=resolved', [a]],
      [`?status=open&jobId=${job.jobId}`, [b]],
      ['?status=open&threadId=my%20thread', [b]],
      [`?threadId=${job.threadId}&kind=human_input`, [a]],
      ['?threadId=nobodys', []],
      ['?jobId=nonsense', []],
    ];
    for (const [query, ids] of cases) expect([query, await idsOf(here.member, query)]).toEqual([query, ids]);
    expect(await idsOf(stranger, `?jobId=${job.jobId}`)).toEqual([]);
    for (const [query, error] of [
      ['?status=done', 'Invalid status'],
      ['?kind=x', 'Invalid kind'],
      ['?limit=0', 'Invalid limit'],
      ['?limit=101', 'Invalid limit'],
      ['?jobId=1&jobId=2', 'Invalid jobId'],
    ] as const) {
      expect(await get(here.member, query)).toMatchObject({ status: 400, body: { error, code: 'bad_request' } });
    }
  });

  it('lists the requests of a job and its sub-jobs', async () => {
    const [root, child, other] = [await layOut(), await layOut(), await layOut()];
    await makeSubJob(test.api.app, child, root);
    const asked: string[] = [];
    for (const job of [root, child, other]) asked.unshift(await openInterrupt(test.api.app, job));
    expect(await idsOf(here.member, `?rootJobId=${root.jobId}`)).toEqual(asked.slice(1));
    expect(await idsOf(here.member, `?status=open&rootJobId=${other.jobId}`)).toEqual(asked.slice(0, 1));
    expect(await idsOf(here.member, '?rootJobId=nonsense')).toEqual([]);
    expect(await idsOf(stranger, `?rootJobId=${root.jobId}`)).toEqual([]);
  });

  it('returns the next page after a cursor', async () => {
    const job = await layOut();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.unshift(await openInterrupt(test.api.app, job));
    const found: string[] = [];
    for (let after = ''; ;) {
      const { body } = await get(here.viewer, `?status=open&limit=2${after}`);
      const { interrupts, nextCursor } = body as Page;
      found.push(...interrupts.map(({ id }) => id));
      if (nextCursor === null) break;
      after = `&after=${nextCursor}`;
    }
    expect(found).toEqual(ids);
    expect(await get(here.viewer, '?after=nonsense')).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
  });

  it('shows a request with the names of its requester, before and after it is settled', async () => {
    const job = await layOut('my thread');
    const expiresAt = Date.now() + 60_000;
    const asked = {
      ...{ title: 'Go?', callId: 'call_1', toolCallId: job.toolCallId, expiresAt },
      decidableBy: 'members',
    } as const;
    const id = await openInterrupt(test.api.app, job, asked);
    const shown = {
      id,
      kind: 'human_input',
      status: 'open',
      jobId: job.jobId,
      rootJobId: job.jobId,
      threadId: 'my thread',
      callId: 'call_1',
      path: [],
      title: 'Go?',
      request: { mode: 'approval', prompt: 'Continue?' },
      ...{ decidableBy: 'members', fourEyes: false, adminRequired: false },
      createdAt: expect.any(Number),
      expiresAt,
    };
    expect(await get(here.viewer, `/${id}`)).toMatchObject({ status: 200 });
    expect((await get(here.viewer, `/${id}`)).body).toEqual(shown);
    const settled = {
      ...{ ...shown, status: 'resolved', outcome: 'reject' },
      ...{ decidedBy: here.member.principal.id, decidedAt: expect.any(Number) },
    };
    const { status, body } = await decide(here.member, id, { action: 'reject' });
    expect([status, body]).toEqual([200, settled]);
    expect((await get(here.viewer, `/${id}`)).body).toEqual(settled);
  });

  it('rejects with the errors of the contract, and returns the first decision', async () => {
    const job = await layOut();
    const id = await openInterrupt(test.api.app, job);
    const approval = await openInterrupt(test.api.app, job, { kind: 'tool_approval' });
    const unknown = await openInterrupt(test.api.app, job, { kind: 'unknown_outcome' });
    const late = await openInterrupt(test.api.app, job, { expiresAt: Date.now() - 1 });
    const done = await openInterrupt(test.api.app, job);
    await decide(here.member, done, { action: 'skip' });
    expect(await decide(here.member, done, { action: 'skip' })).toMatchObject({
      status: 200,
      body: { outcome: 'skip' },
    });
    const cases: readonly (readonly [TestMember, string, unknown, number, object])[] = [
      [here.member, id, {}, 400, { code: 'bad_request', error: 'Missing action' }],
      [here.member, id, [], 400, { code: 'bad_request', error: expect.stringContaining('Invalid request body') }],
      [here.member, approval, { action: 'approve' }, 400, { code: 'bad_request', error: 'Missing decision' }],
      [
        ...([here.member, approval, { decision: 'maybe' }, 400] as const),
        { code: 'bad_request', error: 'Invalid decision', issues: ['decision must be one of approve, deny'] },
      ],
      [
        ...([here.member, unknown, { decision: 'happened', data: 'sent' }, 400] as const),
        { code: 'bad_request', field: 'data', issues: ['The allowed fields are decision, reason, result'] },
      ],
      [here.member, id, { action: 'submit', data: 'x', result: 'x' }, 400, { code: 'bad_request', field: 'result' }],
      [here.member, newId(), { action: 'skip' }, 404, { code: 'not_found', error: 'Request not found' }],
      [here.member, 'nonsense', { action: 'skip' }, 404, { code: 'not_found', error: 'Request not found' }],
      [stranger, id, { action: 'skip' }, 404, { code: 'not_found', error: 'Request not found' }],
      [here.viewer, id, { action: 'skip' }, 403, { code: 'cannot_decide', error: 'You cannot decide this request' }],
      [here.owner, id, { action: 'skip' }, 403, { code: 'cannot_decide', error: 'You cannot decide this request' }],
      [
        ...([here.member, done, { action: 'reject' }, 409] as const),
        { code: 'already_answered', error: 'Request already answered', status: 'resolved', outcome: 'skip' },
      ],
      [here.member, late, { action: 'skip' }, 410, { code: 'expired', error: 'Request expired' }],
    ];
    for (const [who, asked, body, status, error] of cases) {
      expect([body, await decide(who, asked, body)]).toMatchObject([body, { status, body: error }]);
    }
    const nameless = await test.call('POST', '/api/interrupts/decision', { key: here.member.key, body: {} });
    expect(nameless).toMatchObject({ status: 400, body: { code: 'bad_request', error: 'Missing request ID' } });
    expect((await test.call('GET', '/api/interrupts')).status).toBe(401);
  });

  it('accepts an answer in the workspace of the job, whichever is active for the user', async () => {
    const id = await openInterrupt(test.api.app, await layOut());
    const other = (await test.people.workspaceOf(`beside${worlds}`)).owner;
    await test.people.join(other.person, `here${worlds}-member`, 'member');
    const headers = { 'x-workspace-id': other.principal.workspaceId };
    const path = `/api/interrupts/${id}/decision`;
    const reply = await test.call('POST', path, { key: here.member.key, body: { action: 'skip' }, headers });
    expect(reply).toMatchObject({ status: 200, body: { outcome: 'skip' } });
  });

  it('looks up an unknown row with one query for any number of workspaces', async () => {
    const name = `many${worlds}`;
    await test.people.workspaceOf(name);
    const key = await test.people.tokenOf(`${name}-owner`);
    for (let i = 0; i < 5; i++)
      await test.auth.workspaces.create(await test.auth.authenticator.identify({ authorization: `Bearer ${key}` }), {
        name: `${name}-${i}`,
      });
    const query = jest.spyOn(test.platform.postgres.workerPool, 'connect');
    const reads = jest.spyOn(test.platform.postgres.api, 'connect');
    for (const path of ['/api/jobs/%/status', '/api/interrupts/%', '/api/notifications/%/read']) {
      const url = path.replace('%', newId());
      const method = path.endsWith('read') ? 'POST' : 'GET';
      const counts: number[] = [];
      // The server remembers memberships for a second, so on a slow machine some of the calls read them again.
      for (let i = 0; i < 5; i++) {
        query.mockClear();
        reads.mockClear();
        expect([path, (await test.call(method, url, { key })).status]).toEqual([path, 404]);
        counts.push(query.mock.calls.length + reads.mock.calls.length);
      }
      expect([path, Math.min(...counts)]).toEqual([path, 1]);
    }
    query.mockRestore();
    reads.mockRestore();
  });
});

describe('REST job with ask_person', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;
  let here: Record<Role, TestMember>;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
    here = await test.people.workspaceOf('here');
  });

  afterEach(() => {
    model.assertDone();
  });

  afterAll(async () => {
    await test.close();
    await model.close();
    await database.close();
  });

  it('waits, and continues with the answer from the inbox', async () => {
    const call = { id: 'q', name: 'ask_person', arguments: '{"question":"Which size?"}' };
    model.enqueue(toolCallReply([call]), textReply(['Ordered.']));
    const jobs = restJobs(test, here.member.key);
    const tools = [test.api.app.get(ToolRegistry).definitionOf('ask_person')];
    const jobId = jobIdOf(await jobs.start(chatBody({ tools })));
    const stream = await jobs.watch(jobId);
    const opened = await stream.until(({ event, data }) => {
      const open = data['interrupts'];
      return event === 'interrupt-opened' || (event === 'snapshot' && Array.isArray(open) && open.length > 0);
    });
    const [shown] = opened.event === 'snapshot' ? (opened.data['interrupts'] as object[]) : [opened.data];
    expect(shown).toMatchObject({ kind: 'human_input', callId: 'q', title: 'Which size?', request: { mode: 'input' } });
    // A later viewer receives the same.
    const late = await jobs.watch(jobId);
    const snapshot = await late.until(({ event }) => event === 'snapshot');
    const { interruptId } = shown as { interruptId: string };
    expect(snapshot.data['interrupts']).toMatchObject([{ interruptId, kind: 'human_input', callId: 'q' }]);
    late.leave();
    const inbox = await test.call('GET', `/api/interrupts?status=open&jobId=${jobId}`, { key: here.member.key });
    expect(inbox.body).toMatchObject({ interrupts: [{ id: interruptId }], nextCursor: null });
    const answer = { key: here.member.key, body: { action: 'submit', data: 'M' } };
    expect((await test.call('POST', `/api/interrupts/${interruptId}/decision`, answer)).status).toBe(200);
    const resolved = await stream.until(({ event }) => event === 'interrupt-resolved');
    expect(resolved.data).toMatchObject({ interruptId, outcome: 'submit', decidedBy: here.member.principal.id });
    expect(await jobs.ended(jobId)).toMatchObject({ status: 'complete', content: 'Ordered.' });
    const messages = model.requests.at(-1)?.json['messages'] as readonly object[]; // chat completions have them
    expect(messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'q', content: 'M' });
    stream.leave();
  });
});
