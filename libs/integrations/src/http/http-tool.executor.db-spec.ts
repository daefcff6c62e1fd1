import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId, Secret, systemClock } from '#platform';
import { executeToolCall, type ToolContext } from '#tools';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { leading, OutboundFixture } from '../../../../test/harness/outbound-fixture.js';
import { openWorkspaceTools } from '../../../../test/harness/workspace-tools.js';

const canary = 'canary-0123456789';
const given = new OutboundFixture();
let database: TestDatabase;
let identities: TestIdentities;
let here: Record<Role, MemberPrincipal>;
let parts: ReturnType<typeof openWorkspaceTools>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  parts = openWorkspaceTools(database, given.client({ allowPrivate: true, lookup: leading(['127.0.0.1']) }));
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

const parameters = { type: 'object', properties: { id: { type: 'string' }, q: { type: 'string' } } };
const definition = (changes: object = {}) => ({
  name: 'remote',
  description: 'd',
  parameters,
  method: 'GET',
  url: `${given.target.url}/users/{id}?q={q}`,
  ...changes,
});

/** Registers a tool and calls it as a job does. */
async function call(changes: object, args: object, signal = new AbortController().signal) {
  await parts.tools.register(here.admin, definition(changes));
  const tool = (await parts.catalog.of(here.owner.workspaceId)).find('remote');
  if (tool === undefined) throw new Error('it is registered above');
  const context: ToolContext = {
    workspaceId: here.owner.workspaceId,
    jobId: newId(),
    threadId: null,
    principal: here.member.id,
    callId: 'call_1',
    idempotencyKey: 'job:1:2',
    epoch: 7,
    signal,
    now: () => Date.now(),
    progress: () => undefined,
  };
  const run = { tool, arguments: JSON.stringify(args), context, defaultTimeoutMs: 10_000, clock: systemClock };
  return { tool, context, outcome: await executeToolCall(run) };
}

describe('HttpToolExecutor', () => {
  it('sends key, epoch and secrets, and returns the selected part of the response', async () => {
    await parts.secrets.set(here.admin, 'TOKEN', new Secret(canary));
    given.answering(200, { 'content-type': 'application/json' }, '{"data": [{"name": "Ada"}]}');
    const headers = [{ name: 'Authorization', value: 'Bearer {{secret:TOKEN}}' }];
    const { outcome } = await call({ headers, result: '$.data[0].name' }, { id: 'a/b', q: 'x y' });
    expect(outcome).toMatchObject({ status: 'completed', result: 'Ada' });
    expect(given.target.requests[0]).toMatchObject({ method: 'GET', path: '/users/a%2Fb?q=x%20y' });
    expect(given.target.requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${canary}`,
      'idempotency-key': 'job:1:2',
      'x-job-epoch': '7',
    });
  });

  it('redacts a secret that the remote server echoes in any form', async () => {
    await parts.secrets.set(here.admin, 'TOKEN', new Secret(`${canary}"/`));
    const headers = [{ name: 'X-Key', value: '{{secret:TOKEN}}' }];
    given.handler = (request, response) => {
      const echo = String(request.headers['x-key']);
      const forms = [echo, encodeURIComponent(echo), Buffer.from(echo).toString('base64')];
      const status = request.path.includes('fail') ? 500 : 200;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ forms }));
    };
    const { tool, context, outcome } = await call({ headers }, { id: 'ok' });
    expect(outcome.status).toBe('completed');
    const run = { tool, arguments: '{"id":"fail"}', context, defaultTimeoutMs: 10_000, clock: systemClock };
    const trial = await parts.trials.run(here.admin, { definition: definition({ headers }) }, { id: 'ok' });
    for (const answer of [outcome, await executeToolCall(run), trial]) {
      const text = JSON.stringify(answer);
      expect(text).toContain('[redacted]');
      for (const form of [canary, encodeURIComponent(canary), Buffer.from(canary).toString('base64').slice(0, 20)]) {
        expect(text).not.toContain(form);
      }
    }
    const audit = await database.prisma.withWorkspace(here.owner, (tx) => tx.auditEntry.findMany());
    expect(JSON.stringify(audit)).not.toContain('canary');
  });

  it('fails with the status and the beginning of the text of an error response', async () => {
    given.answering(422, { 'content-type': 'text/plain' }, `bad ${'x'.repeat(5_000)}`);
    const { outcome } = await call({}, { id: '1' });
    expect(outcome.status).toBe('error');
    expect(outcome.modelText).toMatch(/^Error executing tool "remote": HTTP 422 Unprocessable Entity: bad x+ …$/);
    expect(outcome.modelText.length).toBeLessThan(600);
  });

  it('fails when a secret that it names is not set', async () => {
    const { outcome } = await call({ headers: [{ name: 'X', value: '{{secret:NONE}}' }] }, { id: '1' });
    expect(outcome.modelText).toBe('Error executing tool "remote": the secret "NONE" is not set in this workspace');
    expect(given.target.connections()).toBe(0);
  });

  it('sends no request to a private address', async () => {
    parts = openWorkspaceTools(database, given.client({ ports: [given.target.port] }));
    for (const host of ['127.0.0.1', '2130706433', '[::ffff:7f00:1]', 'localhost']) {
      const url = `http://${host}:${given.target.port}/`;
      const trial = await parts.trials.run(here.admin, { definition: definition({ url }) }, {});
      expect(trial).toMatchObject({
        status: null,
        error: 'This address is not public. Use a public address.',
        hint: expect.stringContaining('ALLOW_PRIVATE_TOOL_URLS=true'),
      });
    }
    const trial = await parts.trials.run(here.admin, { definition: definition({ url: 'http://api.test:9/' }) }, {});
    expect(trial).toMatchObject({
      error: expect.stringContaining('port 9'),
      hint: expect.stringContaining('OUTBOUND_PORTS'),
    });
    expect(given.target.connections()).toBe(0);
  });

  it('connects only to hosts on the current list of the workspace', async () => {
    await parts.hosts.set(here.admin, ['api.test']);
    const run = (host: string) =>
      parts.trials.run(here.admin, { definition: definition({ url: `http://${host}:${given.target.port}/` }) }, {});
    expect(await run('api.test')).toMatchObject({ status: 200, result: 'hello' });
    expect(await run('other.test')).toMatchObject({ status: null, error: expect.stringContaining('not on the list') });
    await parts.hosts.set(here.admin, []);
    expect(await run('other.test')).toMatchObject({ status: 200 });
  });

  it('follows redirects only for GET', async () => {
    given.handler = (request, response) =>
      request.path === '/end' ? response.end('end') : response.writeHead(307, { location: '/end' }).end();
    expect((await call({}, { id: '1' })).outcome).toMatchObject({ result: 'end' });
    const trial = await parts.trials.run(here.admin, { definition: definition({ method: 'POST' }) }, { id: '1' });
    expect(trial).toMatchObject({ status: 307, error: 'HTTP 307 Temporary Redirect: it redirects to /end' });
  });

  it('truncates a response that exceeds maxBytes after decompression', async () => {
    given.answering(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, gzipSync('x'.repeat(3_000_000)));
    const { outcome } = await call({ maxBytes: 1_000 }, { id: '1' });
    expect(outcome).toMatchObject({ status: 'completed', result: `${'x'.repeat(1_000)}\n[cut after 1000 bytes]` });
  });

  it('ends a call that takes too long', async () => {
    given.handler = () => undefined;
    const { outcome } = await call({ timeoutMs: 20 }, { id: '1' });
    expect(outcome).toMatchObject({ status: 'timed_out', modelText: 'Handler timeout after 20ms' });
    const trial = await parts.trials.run(here.admin, { definition: definition({ timeoutMs: 20 }) }, { id: '1' });
    expect(trial).toMatchObject({ status: null, error: 'it took too long' });
  });

  it('reports an unknown outcome for a broken connection, and an error for a failed one', async () => {
    given.handler = (_, response) => response.destroy();
    const { outcome } = await call({ method: 'POST' }, { id: '1' });
    expect(outcome).toMatchObject({ status: 'interrupted' });
    const pure = definition({ name: 'pure', method: 'POST', effect: 'pure' });
    expect((await parts.trials.run(here.admin, { definition: pure }, { id: '1' })).error).not.toContain('not known');
  });

  it('looks up the outcome of a call by its idempotency key', async () => {
    const verify = { url: `${given.target.url}/calls/{idempotencyKey}`, result: '$.made' };
    const { tool, context } = await call({ verify }, { id: '1' });
    const ask = () => tool.verify?.('job:1:9', context);
    expect(tool.onUnknown).toBe('verify');
    given.answering(200, { 'content-type': 'application/json' }, '{"made": "yes"}');
    expect(await ask()).toEqual({ outcome: 'happened', result: 'yes' });
    expect(given.target.requests.at(-1)).toMatchObject({
      path: '/calls/job%3A1%3A9',
      headers: { 'idempotency-key': 'job:1:9' },
    });
    given.answering(404, {});
    expect(await ask()).toEqual({ outcome: 'did_not_happen' });
    given.answering(503, { 'content-type': 'text/plain' }, 'busy');
    expect(await ask()).toEqual({ outcome: 'unknown', note: 'HTTP 503 busy' });
  });
});

describe('HttpToolTrials', () => {
  it('reports the trial of a stored tool or a draft, and records it', async () => {
    given.answering(200, { 'content-type': 'application/json' }, '{"a": 1}');
    const { id } = await parts.tools.register(here.admin, definition({ result: '$.a' }));
    const seen = { status: 200, result: '1', error: null, hint: null, excerpt: '{"a": 1}' };
    expect(await parts.trials.run(here.admin, { id }, { id: 'x' })).toEqual({
      ...seen,
      durationMs: expect.any(Number),
    });
    const draft = definition({ result: '$.a', name: 'draft' });
    expect(await parts.trials.run(here.owner, { definition: draft }, { id: 'x' })).toMatchObject(seen);
    expect(String(given.target.requests[0]?.headers['idempotency-key'])).toMatch(/^test:/);
    const audit = await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.auditEntry.findMany({ where: { action: 'tool-tested' }, orderBy: { id: 'asc' } }),
    );
    expect(audit).toMatchObject([
      { actor: here.admin.id, subjectId: id, details: { name: 'remote', method: 'GET' } },
      { actor: here.owner.id, subjectId: 'draft', details: { name: 'draft' } },
    ]);
  });

  it('refuses arguments that the tool would refuse', async () => {
    const attempt = parts.trials.run(here.admin, { definition: definition() }, { id: 5 });
    await expect(attempt).rejects.toMatchObject({ code: 'bad_request', field: 'arguments' });
    expect(given.target.connections()).toBe(0);
  });
});
