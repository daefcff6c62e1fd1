import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, deltaChunk, doneLine, finishChunk, textChunk } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let owner: TestMember;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  owner = (await api.people.workspaceOf('access')).owner;
});

afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

/** A running job that streams `before`, waits for the gate, streams `SECRET` and ends. */
async function startGatedJob() {
  const gate = createGate();
  model.enqueue({
    body: [
      deltaChunk({ role: 'assistant', content: '' }),
      textChunk('before'),
      gate,
      textChunk('SECRET'),
      finishChunk('stop'),
      doneLine,
    ],
  });
  const { data } = await ask(api, 'mutation { startChat(input: { message: "Hi" }) { jobId } }', { key: owner.key });
  const { jobId } = data?.['startChat'] as { jobId: string };
  await eventually('text is stored', async () => {
    const reply = await ask(api, 'query($id: ID!) { job(id: $id) { content } }', {
      key: owner.key,
      variables: { id: jobId },
    });
    return JSON.stringify(reply.data).includes('before') ? true : undefined;
  });
  return { jobId, gate };
}

async function watch(jobId: string, key: string): Promise<RawSocket> {
  const socket = await RawSocket.enter(api, key);
  const query = 'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename ... on TextDeltaEvent { text } } }';
  socket.send({ id: '1', type: 'subscribe', payload: { query, variables: { jobId } } });
  await socket.until(({ type }) => type === 'next');
  return socket;
}

const sees = (socket: RawSocket) => JSON.stringify(socket.messages);

describe('GraphQL subscriptions after a loss of access', () => {
  it('end when the key is revoked, before any further event', async () => {
    const { jobId, gate } = await startGatedJob();
    const viewer = await api.people.keyOf(owner.principal, ['read']);
    const [lost, stays] = [await watch(jobId, viewer.key), await watch(jobId, owner.key)];
    await api.auth.apiKeys.revoke(owner.principal, viewer.keyId);
    expect(await lost.closed).toEqual({ code: 4403, reason: 'Forbidden' });
    gate.open();
    await stays.until(({ type }) => type === 'complete');
    expect([sees(lost).includes('SECRET'), sees(stays).includes('SECRET')]).toEqual([false, true]);
    stays.close();
  });

  it('end when the user leaves the workspace, and continue when the role changes', async () => {
    const { jobId, gate } = await startGatedJob();
    const joined = await api.people.join(owner.person, 'passing', 'member');
    const socket = await watch(jobId, await api.people.tokenOf('passing'));
    await api.auth.members.changeRole(owner.person, { userId: joined.userId, role: 'viewer' });
    socket.send({ id: '2', type: 'subscribe', payload: { query: '{ me { role } }' } });
    expect(await socket.until(({ id }) => id === '2')).toMatchObject({ payload: { data: { me: { role: 'VIEWER' } } } });
    await api.auth.members.remove(owner.person, joined.userId);
    expect(await socket.closed).toMatchObject({ code: 4403 });
    gate.open();
    expect(sees(socket)).not.toContain('SECRET');
  });

  it('end when the token expires', async () => {
    const { jobId, gate } = await startGatedJob();
    // One that ends before its owner watches is followed by one that lasts longer.
    const watchFor = async (life: number): Promise<RawSocket> =>
      watch(jobId, await api.people.tokenOf('access-owner', life)).catch(() => watchFor(2 * life));
    const socket = await watchFor(3);
    expect(await socket.closed).toEqual({ code: 4401, reason: 'Token expired' });
    gate.open();
    expect(sees(socket)).not.toContain('SECRET');
  });

  it('reject further operations on the socket after the key was revoked', async () => {
    const passing = await api.people.keyOf(owner.principal, ['read']);
    const socket = await RawSocket.enter(api, passing.key);
    await api.auth.apiKeys.revoke(owner.principal, passing.keyId);
    socket.send({ id: '1', type: 'subscribe', payload: { query: '{ tools { name } }' } });
    expect(await socket.closed).toMatchObject({ code: 4403 });
    expect(sees(socket)).not.toContain('calculate');
  });

  it('close the idle socket when the key is revoked', async () => {
    const passing = await api.people.keyOf(owner.principal, ['read']);
    const idle = await RawSocket.enter(api, passing.key);
    await api.auth.apiKeys.revoke(owner.principal, passing.keyId);
    expect(await idle.closed).toEqual({ code: 4403, reason: 'Forbidden' });
  });

  it('close the socket when the key is revoked, also after naming a foreign workspace', async () => {
    const passing = await api.people.keyOf(owner.principal, ['read']);
    const foreign = (await api.people.workspaceOf('foreign')).owner.principal.workspaceId;
    const enter = async () => {
      const socket = await RawSocket.enter(api, passing.key, { workspaceId: foreign });
      socket.send({ id: '1', type: 'subscribe', payload: { query: '{ me { role } tools { name } }' } });
      expect(JSON.stringify(await socket.until(({ id }) => id === '1'))).not.toContain('calculate');
      return socket;
    };
    const socket = await enter();
    await api.auth.apiKeys.revoke(owner.principal, passing.keyId);
    expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' });
  });

  it('close the socket when the user leaves a workspace, also after naming a foreign one', async () => {
    const joined = await api.people.join(owner.person, 'leaving', 'member');
    const foreign = (await api.people.workspaceOf('elsewhere')).owner.principal.workspaceId;
    const [named, absent] = [foreign, '0198c0de-0000-7000-8000-000000000000'];
    const token = await api.people.tokenOf('leaving');
    const sockets = await Promise.all(
      [named, absent].map((workspaceId) => RawSocket.enter(api, token, { workspaceId })),
    );
    await api.auth.members.remove(owner.person, joined.userId);
    for (const socket of sockets) expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' });
  });

  it('close the idle socket when the token expires', async () => {
    const socket = await RawSocket.enter(api, await api.people.tokenOf('access-owner', 5));
    expect(await socket.closed).toEqual({ code: 4401, reason: 'Token expired' });
  });

  it('close with 1001 when the server stops', async () => {
    const other = await startTestApi(database, { takesJobs: false });
    const socket = await RawSocket.enter(other, owner.key);
    await other.close();
    expect(await socket.closed).toMatchObject({ code: 1001 });
  });
});
