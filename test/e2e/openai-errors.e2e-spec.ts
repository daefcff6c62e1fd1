import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { completionsClient } from '../harness/openai-client.js';
import { ask, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { RawConnection } from '../harness/raw-http.js';
import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const error = (message: string, param: string | null = null, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code },
});
const session = { 'x-tool-event-format': 'openai', 'x-session-id': 's' };

describe('the /v1 API', () => {
  it.each([
    [null, 'Missing or invalid Authorization header'],
    ['', 'Missing or invalid Authorization header'],
    ['nsk_unknown', 'Invalid API key'],
    ['no key at all', 'Missing or invalid Authorization header'],
    ['ey.a.token', 'Invalid API key'],
  ])('returns 401 with the problem of the key %p', async (key, message) => {
    const reply = await completionsClient(stage.test.url, key).ask(plain('hi'));
    expect([reply.status, reply.json]).toEqual([401, error(message, null, 'invalid_api_key')]);
  });

  it('returns 401 for the token of a person', async () => {
    const reply = await completionsClient(stage.test.url, await stage.test.people.tokenOf('main-owner')).ask(
      plain('hi'),
    );
    expect([reply.status, reply.json]).toEqual([401, error('Invalid API key', null, 'invalid_api_key')]);
  });

  it('returns 403 for a key that may start jobs and not read them, and starts none', async () => {
    const { key } = await stage.test.people.keyOf(stage.owner.principal, ['write']);
    const jobs = () => stage.test.platform.prisma.asWorker((client) => client.job.count());
    const before = await jobs();
    const reply = await completionsClient(stage.test.url, key).ask(plain('hi'));
    expect([reply.status, reply.json]).toMatchObject([403, { error: { message: expect.stringContaining('"read"') } }]);
    expect(await jobs()).toBe(before);
  });

  it('returns the same error for an empty chunked body as for an empty body', async () => {
    const headers = {
      ...{ Authorization: `Bearer ${stage.owner.key}`, 'Content-Type': 'application/json' },
      ...{ 'Transfer-Encoding': 'chunked', Connection: 'close' },
    };
    const connection = RawConnection.send(stage.test.url, { path: '/v1/chat/completions', headers });
    connection.write('0\r\n\r\n');
    expect(await connection.status()).toBe(400);
    await connection.closed();
    expect(connection.received).toContain(JSON.stringify(error('Invalid request body')));
  });

  it.each<readonly [body: unknown, headers: Readonly<Record<string, string>>, status: number, expected: object]>([
    ['{', {}, 400, error('Invalid request body: it is not JSON, or neither an object nor a list')],
    [
      plain('hi'),
      { 'content-type': 'application/x-www-form-urlencoded' },
      400,
      error('Invalid request body: it must be JSON. Send the request as application/json'),
    ],
    [[], {}, 400, error('Invalid request body')],
    ['', {}, 400, error('Invalid request body')],
    [{}, {}, 400, error('Messages array is required and must not be empty', 'messages')],
    [plain('hi', { temperature: 'hot' }), {}, 400, error('Invalid request body: temperature: must be a number')],
    [{ messages: [user('hi')] }, {}, 400, error('Model is required', 'model')],
    [{ model: 'helper' }, {}, 400, error('Messages array is required and must not be empty', 'messages')],
    [
      { model: 'helper', messages: [{ role: 'system', content: 'x' }] },
      {},
      400,
      error('No user message content found in messages', 'messages'),
    ],
    [plain('hi', { n: 2 }), {}, 400, error("Unsupported parameter: 'n'", 'n', 'unsupported_parameter')],
    [
      plain('hi'),
      { 'x-tool-event-format': 'xml' },
      400,
      error('Unsupported X-Tool-Event-Format: xml', 'x-tool-event-format'),
    ],
    [plain('hi'), { 'x-session-id': 'a b' }, 400, error('Invalid X-Session-Id', 'x-session-id')],
    [plain('hi'), { 'idempotency-key': 'a b' }, 400, error('Invalid Idempotency-Key', 'idempotency-key')],
    [
      plain('hi'),
      { 'x-tool-event-format': 'OpenAI' },
      400,
      error('X-Session-Id header is required for x-tool-event-format=openai', 'x-session-id'),
    ],
    [
      plain('hi', { model: 'workflow/x' }),
      session,
      400,
      error('x-tool-event-format=openai is only supported for single-agent models', 'model'),
    ],
    [
      withTools([user('hi'), result('call_unknown', 'x')]),
      {},
      400,
      error('No pending tool run exists for these tool results', 'messages'),
    ],
    [plain('hi', { model: 'unknown' }), {}, 404, error("Model 'unknown' not found", 'model', 'model_not_found')],
  ])('returns the error of the table: %j', async (...row) => {
    const [body, headers, status, expected] = row;
    const reply = await stage.client.ask(body, headers);
    expect([reply.status, reply.json]).toEqual([status, expected]);
    expect(reply.headers['x-job-id']).toBeUndefined();
    expect(reply.headers['x-request-id']).toEqual(expect.any(String));
  });

  it('returns 400 with the limit on tool calls', async () => {
    const call = { type: 'function', function: { name: 'f', arguments: '{}' } };
    const calls = Array.from({ length: 4_000 }, (_, i) => ({ ...call, id: `c${i}` }));
    const message = { role: 'assistant', content: null, tool_calls: calls };
    const reply = await stage.client.ask({ model: 'helper', messages: [user('a'), message, user('b')] });
    const text = 'Too many tool_calls in messages: with a result for each there are 4003 messages, at most 2000';
    expect([reply.status, reply.json]).toEqual([400, error(text, 'messages')]);
  });

  it('returns 400 with the limit on messages, also for a continuation', async () => {
    const { status, json } = await stage.client.ask(
      withTools([...Array.from({ length: 2_000 }, () => user('a')), result('call_unknown', 'x')]),
    );
    const text = 'Too many messages: 2001, at most 2000 (MAX_MESSAGES). Send fewer or shorten the conversation';
    expect([status, json]).toEqual([400, error(text, 'messages')]);
  });

  it('reads no body over the limit', async () => {
    const reply = await stage.client.ask(plain('x'.repeat(4_194_304)));
    expect([reply.status, reply.json]).toEqual([
      413,
      error('Request body exceeds 4194304 bytes', null, 'request_too_large'),
    ]);
  });

  it('returns the OpenAI error format at every path below /v1', async () => {
    const { key } = stage.owner;
    const routes = 'POST /v1/chat/completions, GET /v1/models and POST /v1/tools/execute, and no Responses API';
    const unknown = `Unknown request URL. There are ${routes}`;
    for (const path of ['/v1/unknown', '/v1/responses', '/v1/chat/completions/x', '/v1'])
      expect(await stage.test.call('GET', path, { key })).toMatchObject({
        status: 404,
        body: error(unknown, null, 'unknown_url'),
      });
  });
});

describe('failed /v1 responses', () => {
  it('return an HTTP error when the model fails before any content', async () => {
    for (const stream of [true, false]) {
      stage.model.enqueue(errorReply(400));
      const reply = await stage.client.ask(plain('hi', { stream }));
      expect([reply.status, reply.json]).toEqual([
        500,
        { error: { message: 'Agent execution failed', type: 'server_error', param: null, code: 'job_failed' } },
      ]);
      expect(reply.headers['x-job-id']).toEqual(expect.any(String));
    }
  });

  it('return an HTTP error when the model returns no content', async () => {
    stage.model.enqueue(textReply([]));
    const reply = await stage.client.ask(plain('hi'));
    expect([reply.status, reply.json['error']]).toMatchObject([500, { message: 'Agent returned empty response' }]);
  });

  it('end a started stream with an error chunk', async () => {
    const gate = createGate();
    const { body } = textReply(['Half']);
    stage.model.enqueue({ body: [...body.slice(0, 2), gate], end: 'destroy' });
    const open = stage.client.open(plain('hi', { stream: true }));
    await open.until('Half');
    const jobId = String((await open.begun).headers['x-job-id']);
    const abort = await stage.test.call('POST', `/api/jobs/${jobId}/abort`, { key: stage.owner.key });
    expect(abort.body).toMatchObject({ aborted: true });
    gate.open();
    const { text } = await open.over;
    const [last, done] = text.trimEnd().split('\n\n').slice(-2);
    expect(JSON.parse(String(last).slice(6))).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ delta: { content: expect.stringMatching(/^\n\n\[error\] /) }, finish_reason: 'stop' }],
      error: { code: 'job_cancelled', type: 'server_error', param: null },
    });
    expect(done).toBe('data: [DONE]');
  });
});

describe('limits of /v1', () => {
  it('send the start limit in headers, and return 429 for a start over it', async () => {
    // Processes share the counts, and the earlier tests have used those of the owner.
    const { owner } = await stage.tenant('rates');
    const { client } = await stage.another({ STARTS_PER_MINUTE: '1' }, owner);
    stage.model.enqueue(textReply(['one']));
    const first = await client.ask(plain('hi'));
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit-requests': '1',
      'x-ratelimit-remaining-requests': '0',
    });
    const second = await client.ask(plain('hi'));
    expect([second.status, second.json]).toMatchObject([
      429,
      {
        error: {
          message: expect.stringMatching(/^Rate limit exceeded\. .*\(STARTS_PER_MINUTE\)/),
          type: 'rate_limit_error',
          param: null,
          code: 'rate_limit_exceeded',
        },
      },
    ]);
    expect(Number(second.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('return 429 over the limit of open responses', async () => {
    const { client } = await stage.another({ OPENAI_ANSWERS_PER_PRINCIPAL: '1' });
    const before = createGate();
    stage.model.enqueue({ ...textReply(['one']), before });
    const count = stage.model.requests.length;
    const open = client.open(plain('hi'));
    await stage.model.request(count + 1);
    expect((await client.ask(plain('hi'))).status).toBe(429);
    before.open();
    expect((await open.over).status).toBe(200);
  });

  it('return 503 over the limit of jobs in a workspace', async () => {
    const { owner, client } = await stage.tenant('full');
    await stage.database.postgres.withWorkspaceSql(owner.principal.workspaceId, (client) =>
      client.query(`UPDATE workspace SET max_jobs = 1, when_full = 'reject'`),
    );
    const before = createGate();
    stage.model.enqueue({ ...textReply(['one']), before });
    const count = stage.model.requests.length;
    const open = client.open(plain('hi'));
    await stage.model.request(count + 1);
    const reply = await client.ask(plain('hi'));
    const rule = 'this workspace runs at most 1 job at once (maxJobs)';
    const message = `Server busy, try again later: ${rule}. An owner or admin of the workspace can raise it.`;
    expect([reply.status, reply.json]).toEqual([
      503,
      { error: { message, type: 'server_error', param: null, code: 'server_busy' } },
    ]);
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    before.open();
    expect((await open.over).status).toBe(200);
  });

  it('ignore paused runs that are never continued when they count running jobs', async () => {
    const { owner, client } = await stage.tenant('paused');
    await stage.database.postgres.withWorkspaceSql(owner.principal.workspaceId, (client) =>
      client.query(`UPDATE workspace SET max_jobs = 1, max_jobs_per_user = 1, when_full = 'reject'`),
    );
    for (let i = 0; i < 8; i++) {
      stage.model.enqueue(toolCallReply([ask(`call_paused_${i}`, 'Rome')]));
      expect((await client.ask(withTools([user('hi')]))).status).toBe(200);
    }
  });

  it('end a long response, and return it later by its key', async () => {
    const { client } = await stage.another({ OPENAI_MAX_HOLD_MS: '20' });
    const before = createGate();
    stage.model.enqueue({ ...textReply(['late']), before });
    const key = { 'idempotency-key': 'held' };
    const held = await client.ask(plain('hi'), key);
    expect([held.status, held.json]).toEqual([
      504,
      {
        error: {
          message: 'The job is still running in the background',
          type: 'server_error',
          param: null,
          code: 'still_running',
        },
      },
    ]);
    expect(held.headers['x-job-id']).toEqual(expect.any(String));
    before.open();
    const answer = await stage.client.ask(plain('hi'), key);
    expect(answer.json).toMatchObject({ choices: [{ message: { content: 'late' } }] });
    expect(answer.headers['x-job-id']).toBe(held.headers['x-job-id']);
  });
});
