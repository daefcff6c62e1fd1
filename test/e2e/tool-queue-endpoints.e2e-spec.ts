import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId, TOOL_QUEUES } from '#platform';

import { DeadLetters } from '../../libs/tools/src/remote/dead-letters.js';
import { ExecClaimsRepository } from '../../libs/tools/src/remote/exec-claims.repository.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { sendCalls, type SentCall } from '../harness/tool-queue.js';

const list = `query ($first: Int, $after: String) { deadToolCalls(first: $first, after: $after) {
  nodes { id reason toolCallId jobId tool status canRedrive } pageInfo { hasNextPage endCursor } } }`;
const redrive = `mutation ($id: ID!) { redriveToolCall(input: { id: $id }) {
  deadToolCall { toolCallId status canRedrive } userErrors { code message } } }`;
const cancel = `mutation ($id: ID!) { cancelToolCall(input: { id: $id }) { state userErrors { code message } } }`;

interface Letters {
  readonly nodes: readonly { readonly id: string; readonly reason: string; readonly canRedrive: boolean }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

describe('endpoints of the isolated tool queue', () => {
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
      await database.postgres.engine.query<{ id: string }>(
        `SELECT data->>'correlation_id' AS id FROM pgboss.job WHERE name = $1`,
        [TOOL_QUEUES.requests],
      )
    ).rows.map(({ id }) => id);
  const takeRequests = () =>
    database.postgres.engine.query('DELETE FROM pgboss.job WHERE name = $1', [TOOL_QUEUES.requests]);

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
    const { engine } = database.postgres;
    await engine.query(`UPDATE tool_call SET status = 'error', finished_at = now() WHERE id = $1`, [ended.id]);
    await engine.query(`UPDATE tool_call SET exec_until = now() - interval '1 s' WHERE id = ANY($1)`, [
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
