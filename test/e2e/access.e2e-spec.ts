import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { newId } from '#platform';

import { type Reply, startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

let database: TestDatabase;
let test: TestApi;
let ours: Record<Role, TestMember>;
let theirs: Record<Role, TestMember>;
let jobId: string;

const startBody = (name: string) => ({
  _threadId: `thread-${name}`,
  _messageId: `message-${name}`,
  _admissionId: `key-${name}`,
  _background: true,
  messages: [{ role: 'user', content: 'hi' }],
});

beforeAll(async () => {
  database = await createTestDatabase();
  // No worker runs here, so started jobs stay queued.
  test = await startTestApi(database, { takesJobs: false });
  ours = await test.people.workspaceOf('ours');
  theirs = await test.people.workspaceOf('theirs');
  const started = await test.call('POST', '/api/jobs', { key: ours.owner.key, body: startBody('first') });
  ({ jobId } = started.body as { jobId: string });
});

afterAll(async () => {
  await test.close();
  await database.close();
});

interface Endpoint {
  readonly method: string;
  readonly path: () => string;
  readonly body?: () => unknown;
}

const endpoints: Record<string, Endpoint> = {
  start: { method: 'POST', path: () => '/api/jobs', body: () => startBody(newId()) },
  'or3 start': { method: 'POST', path: () => '/api/openrouter/stream', body: () => startBody(newId()) },
  status: { method: 'GET', path: () => `/api/jobs/${jobId}/status` },
  stream: { method: 'GET', path: () => `/api/jobs/${jobId}/stream` },
  abort: { method: 'POST', path: () => `/api/jobs/${jobId}/abort` },
  'job of a message': { method: 'GET', path: () => '/api/jobs?threadId=none&messageId=none' },
  admission: { method: 'GET', path: () => '/api/jobs/admission/key-first' },
  'admission abort': {
    method: 'POST',
    path: () => '/api/jobs/admission-abort',
    body: () => ({ admissionId: 'key-first' }),
  },
  capability: { method: 'GET', path: () => '/api/jobs/client-tool/capability' },
};

function knock(name: string, key: string | undefined): Promise<Reply> {
  const { method, path, body } = endpoints[name] ?? { method: 'GET', path: () => '/' };
  return test.call(method, path(), {
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body: body() }),
  });
}

async function countJobs(): Promise<number> {
  const { rows } = await database.postgres.workerPool.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM job',
  );
  return rows[0]?.count ?? 0;
}

describe.each(Object.keys(endpoints))('REST endpoint "%s"', (name) => {
  it.each([
    ['no key', () => undefined],
    ['a wrong key', () => ours.owner.key.replace(/.{6}$/, 'aaaaaa')],
    ['something else than a key', () => 'hello'],
    [
      'a revoked key',
      async () => {
        const { key, keyId } = await test.people.keyOf(ours.owner.principal, ['read', 'write']);
        await test.auth.apiKeys.revoke(ours.owner.principal, keyId);
        return key;
      },
    ],
    ['an expired token', () => test.people.tokenOf('ours-owner', -1)],
    ['an unsigned token', async () => `${(await test.people.tokenOf('ours-owner')).split('.').slice(0, 2).join('.')}.`],
  ])('rejects %s with 401 and starts nothing', async (_, credential) => {
    const before = await countJobs();
    const reply = await knock(name, await credential());
    const text = name.includes('start')
      ? 'Authentication required for background streaming'
      : 'Authentication required';
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual({
      error: text,
      code: 'unauthenticated',
      retryable: false,
      requestId: reply.headers.get('x-request-id'),
    });
    expect(await countJobs()).toBe(before);
  });
});

describe('REST endpoints and another tenant', () => {
  it.each(['status', 'stream'])('treat a job of another tenant as unknown at endpoint "%s"', async (name) => {
    const foreign = await knock(name, theirs.owner.key);
    const { requestId, ...body } = foreign.body as { requestId: string };
    expect(foreign.status).toBe(404);
    expect(body).toEqual({ error: 'Job not found or unauthorized', code: 'not_found', retryable: false });
    const absent = await test.call('GET', `/api/jobs/${newId()}/status`, { key: theirs.owner.key });
    expect({ ...(absent.body as object), requestId }).toEqual(foreign.body);
  });

  it('cancel no job of another tenant and reveal nothing about it', async () => {
    const reply = await knock('abort', theirs.owner.key);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      aborted: false,
      state: 'not_found',
      message: 'Job not found, unauthorized, or already complete',
    });
    expect((await knock('status', ours.owner.key)).body).toMatchObject({ job_status: 'queued' });
  });

  it('find no admission under the key of another tenant', async () => {
    expect((await knock('admission', theirs.owner.key)).body).toMatchObject({ error: 'No job for this admission' });
    expect((await knock('admission', ours.admin.key)).status).toBe(404);
    expect((await knock('admission', ours.owner.key)).body).toMatchObject({ jobId, status: 'streaming' });
  });

  it('store an abort marker only for the own tenant, for any key', async () => {
    const reply = await knock('admission abort', theirs.owner.key);
    expect(reply.body).toEqual({ aborted: false, pending: true, jobId: null, state: 'cancel_requested' });
    expect((await knock('status', ours.owner.key)).body).toMatchObject({ job_status: 'queued' });
  });

  it('ignore a workspace header', async () => {
    const headers = { 'x-workspace-id': ours.owner.principal.workspaceId };
    expect((await test.call('GET', `/api/jobs/${jobId}/status`, { key: theirs.owner.key, headers })).status).toBe(404);
    expect((await test.call('GET', `/api/jobs/${jobId}/status`, { key: theirs.member.key, headers })).status).toBe(404);
  });
});

describe('REST endpoints and a user of two workspaces', () => {
  const knocking = async (headers: Record<string, string>) => {
    const key = await test.people.tokenOf('ours-owner');
    return test.call('GET', `/api/jobs/${jobId}/status`, { key, headers });
  };
  let second: string;
  beforeAll(async () => {
    const authorization = `Bearer ${await test.people.tokenOf('ours-owner')}`;
    const identity = await test.auth.authenticator.identify({ authorization });
    second = (await test.auth.workspaces.create(identity, { name: 'second' })).id;
  });

  it('return a job by the rights in its workspace, whichever is active', async () => {
    expect((await knocking({})).status).toBe(200);
    expect((await knocking({ 'x-workspace-id': second })).status).toBe(200);
  });

  it('require a workspace for a new job', async () => {
    const key = await test.people.tokenOf('ours-owner');
    const reply = await test.call('POST', '/api/jobs', { key, body: startBody(newId()) });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'bad_request', field: 'workspaceId' }]);
    const headers = { 'x-workspace-id': second };
    expect((await test.call('POST', '/api/jobs', { key, body: startBody(newId()), headers })).status).toBe(202);
  });

  it('return no job of a workspace without membership', async () => {
    const key = await test.people.tokenOf('ours-owner');
    const foreign = await test.call('POST', '/api/jobs', { key: theirs.owner.key, body: startBody(newId()) });
    const { jobId: id } = foreign.body as { jobId: string };
    const reply = await test.call('GET', `/api/jobs/${id}/status`, { key, headers: { 'x-workspace-id': second } });
    expect([reply.status, reply.body]).toMatchObject([404, { error: 'Job not found or unauthorized' }]);
  });
});

describe('REST endpoints and the role viewer', () => {
  it.each(['start', 'or3 start', 'admission abort'])('reject the role viewer at endpoint "%s"', async (name) => {
    const before = await countJobs();
    const reply = await knock(name, ours.viewer.key);
    expect([reply.status, reply.body]).toMatchObject([403, { error: 'Forbidden', code: 'forbidden' }]);
    expect(await countJobs()).toBe(before);
  });

  it('allow the role viewer to read a job and not to cancel it', async () => {
    expect((await knock('status', ours.viewer.key)).status).toBe(200);
    expect([
      (await knock('abort', ours.viewer.key)).status,
      (await knock('status', ours.viewer.key)).body,
    ]).toMatchObject([403, { job_status: 'queued' }]);
  });
});

describe('REST endpoints and API key scopes', () => {
  it('reject start and cancel with a read key', async () => {
    const { key } = await test.people.keyOf(ours.owner.principal, ['read']);
    expect((await knock('start', key)).status).toBe(403);
    expect((await knock('abort', key)).status).toBe(403);
    expect((await knock('status', key)).status).toBe(200);
  });

  it('reject reads with a write key', async () => {
    const { key } = await test.people.keyOf(ours.owner.principal, ['write']);
    expect((await knock('status', key)).status).toBe(404);
    expect((await knock('abort', key)).body).toMatchObject({ state: 'not_found' });
  });
});

describe('REST endpoints and invalid ids', () => {
  it.each(['x', '00000000-0000-0000-0000-000000000000', "' OR 1=1", '%00', 'constructor'])(
    'return not found for %s',
    async (id) => {
      const reply = await test.call('GET', `/api/jobs/${encodeURIComponent(id)}/status`, { key: ours.owner.key });
      expect(reply.body).toMatchObject({ error: 'Job not found or unauthorized', code: 'not_found', retryable: false });
    },
  );

  it('report a blank id as missing', async () => {
    const reply = await test.call('GET', '/api/jobs/%20/status', { key: ours.owner.key });
    expect([reply.status, reply.body]).toMatchObject([400, { error: 'Missing job ID', code: 'bad_request' }]);
  });
});
