import { request as httpRequest } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';
import { ToolRegistry } from '#tools';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { chatBody, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('jobs over REST:', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;
  let key: string;
  let jobs: RestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    test = await startTestApi(database, {
      env: { MODEL_BASE_URL: model.url, MAX_BODY_BYTES: '65536' },
    });
    key = (await test.people.workspaceOf('jobs')).owner.key;
    jobs = restJobs(test, key);
  });

  afterEach(() => {
    model.assertDone();
  });

  afterAll(async () => {
    await test.close();
    await model.close();
    await database.close();
  });

  describe('POST /api/jobs', () => {
    it('accepts a chat for later, begins it at its instant, and does not begin a cancelled one', async () => {
      model.enqueue(textReply(['Later']));
      const [soon, later] = [1_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
      const started = await jobs.start(chatBody({ _startAt: soon }));
      const jobId = jobIdOf(await jobs.start(chatBody({ _startAt: later })));
      const query = `{ job(id: "${jobId}") { status startAt startedAt } }`;
      const waiting = { data: { job: { status: 'QUEUED', startAt: later, startedAt: null } } };
      expect(await ask(test, query, { key })).toMatchObject(waiting);
      expect(await test.call('POST', `/api/jobs/${jobId}/abort`, { key })).toMatchObject({ status: 200 });
      expect(await jobs.ended(jobId)).toMatchObject({ job_status: 'cancelled', content: '' });
      expect(await jobs.ended(jobIdOf(started))).toMatchObject({ job_status: 'completed', content: 'Later' });
      expect(await jobs.start(chatBody({ _startAt: 'tomorrow' }))).toMatchObject({ status: 400 });
    });

    it('accepts a chat, completes it in the background and returns it whole', async () => {
      model.enqueue(textReply(['Good ', 'evening']));
      const body = chatBody({
        _threadId: 'my-thread',
        _messageId: 'my-message',
        model: 'scripted-9',
        temperature: 0.5,
        _labels: { team: 'billing' },
      });
      const reply = await jobs.start(body);
      expect(reply.status).toBe(202);
      expect(reply.body).toEqual({
        jobId: expect.any(String),
        status: 'streaming',
        threadId: 'my-thread',
        messageId: 'my-message',
      });
      expect(reply.headers.get('cache-control')).toBe('no-store, private');
      expect(await jobs.ended(jobIdOf(reply))).toMatchObject({
        ...{ status: 'complete', job_status: 'completed', content: 'Good evening', content_length: 12, error: null },
        ...{
          threadId: 'my-thread',
          messageId: 'my-message',
          model: 'scripted-9',
          attempt: 0,
          labels: { team: 'billing' },
        },
      });
      const sent = model.requests.at(-1)?.json ?? {};
      expect(sent).toMatchObject({ model: 'scripted-9', temperature: 0.5 });
      expect(await jobs.start(chatBody({ labels: { team: null } }))).toMatchObject({
        status: 400,
        body: { code: 'bad_request', error: 'Invalid request body: _labels.team must be a text' },
      });
      expect(Object.keys(sent).filter((name) => name.startsWith('_') || name.endsWith('Id'))).toEqual([]);
    });

    it('finds the job that writes a message, by the ids of its starter', async () => {
      model.enqueue(textReply(['ok']));
      const ids = { _threadId: 'thread of a message', _messageId: 'message/1' };
      const jobId = jobIdOf(await jobs.start(chatBody(ids)));
      await jobs.ended(jobId);
      const find = (threadId: string, messageId: string) =>
        test.call('GET', `/api/jobs?${new URLSearchParams({ threadId, messageId }).toString()}`, { key });
      const named = { threadId: 'thread of a message', messageId: 'message/1' };
      expect((await find(named.threadId, named.messageId)).body).toEqual({ jobId, status: 'complete', ...named });
      const { rows } = await database.postgres.workerPool.query<{ thread: string; message: string }>(
        'SELECT thread_id AS thread, message_id AS message FROM job WHERE id = $1',
        [jobId],
      );
      const { thread = '', message = '' } = rows[0] ?? {};
      expect((await find(thread, message)).body).toMatchObject({ jobId });
      for (const [threadId, messageId] of [
        [thread, 'message/2'],
        [newId(), 'message/1'],
        ['\0', '\0'],
      ] as const) {
        expect(await find(threadId, messageId)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      }
      expect(await find('', 'x')).toMatchObject({ status: 400, body: { error: 'Missing threadId' } });
      expect(await find('x', 'y'.repeat(257))).toMatchObject({ status: 400, body: { error: 'Invalid messageId' } });
    });

    it('serves the route of OR3 clients', async () => {
      model.enqueue(textReply(['ok']));
      const refused = await test.call('POST', '/api/openrouter/stream', { key, body: chatBody() });
      expect([refused.status, refused.body]).toMatchObject([
        400,
        { error: 'Only background requests are served here' },
      ]);
      const reply = await test.call('POST', '/api/openrouter/stream', { key, body: chatBody({ _background: true }) });
      expect([reply.status, reply.body]).toMatchObject([200, { status: 'streaming' }]);
      await jobs.ended(jobIdOf(reply));
    });

    it('starts a job whose status contains its tool calls', async () => {
      const call = { id: 'c1', name: 'add_numbers', arguments: '{"a":2,"b":3}' };
      model.enqueue(toolCallReply([call]), textReply(['5']));
      const tools = [test.api.app.get(ToolRegistry).definitionOf('add_numbers')];
      const { tool_calls, ...rest } = await jobs.ended(jobIdOf(await jobs.start(chatBody({ tools }))));
      expect(rest).toMatchObject({ content: '5', rounds: 2, durationMs: expect.any(Number) });
      const [item] = tool_calls as Record<string, unknown>[];
      expect(item).toMatchObject({ id: 'c1', name: 'add_numbers', status: 'complete', args: '{"a":2,"b":3}' });
      expect(item).toMatchObject({ round: 1, durationMs: expect.any(Number) });
      expect(item?.['output']).toBe(item?.['result']);
      expect(item?.['result']).toContain('5');
    });

    it.each([
      [{ _threadId: undefined }, 'Missing _threadId'],
      [{ _messageId: undefined }, 'Missing _messageId'],
      [{ messages: undefined }, 'Missing messages'],
      [{ messages: [] }, 'Missing messages'],
      [{ messages: 'hi' }, 'Invalid request body: messages must be a list'],
    ])('rejects %j and stores nothing of it', async (change, text) => {
      const reply = await jobs.start(chatBody({ ...change, _admissionId: `refused-${text}-x`.replaceAll(' ', '') }));
      expect([reply.status, reply.body]).toMatchObject([400, { error: text, code: 'bad_request' }]);
      expect(reply.headers.get('x-request-id')).toBe((reply.body as { requestId: string }).requestId);
    });

    it.each(['{"a":', '"text"', 'null', '[1]'])('rejects the body %j without quoting it', async (body) => {
      const reply = await jobs.start(body);
      const { error, code } = reply.body as { error: string; code: string };
      expect([reply.status, code]).toEqual([400, 'bad_request']);
      expect(error).toMatch(
        /^Invalid request body: it (is not JSON, or neither an object nor a list|must be a JSON object)$/,
      );
    });

    it('rejects a body whose content type is not JSON', async () => {
      const reply = await jobs.start(JSON.stringify(chatBody()), { headers: { 'content-type': 'text/plain' } });
      const error = 'Invalid request body: it must be JSON. Send the request as application/json';
      expect([reply.status, reply.body]).toMatchObject([400, { code: 'bad_request', error }]);
    });

    it('rejects a body by its content-length before reading it', async () => {
      const refused = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': 100_000_000,
        };
        const request = httpRequest(`${test.url}/api/jobs`, { method: 'POST', headers }, (response) => {
          let body = '';
          response.on('data', (chunk: Buffer) => (body += chunk.toString()));
          response.on('end', () => {
            resolve({ status: response.statusCode, body });
          });
        });
        request.on('error', reject);
        request.flushHeaders();
      });
      expect(refused.status).toBe(413);
      expect(JSON.parse(refused.body)).toMatchObject({ error: 'Request body exceeds 65536 bytes', code: 'too_large' });
    });

    it('rejects a chunked body over the limit', async () => {
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(`{"x":"${'a'.repeat(100_000)}"}`));
          controller.close();
        },
      });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const reply = await fetch(`${test.url}/api/jobs`, { method: 'POST', headers, body: stream, duplex: 'half' });
      expect([reply.status, await reply.json()]).toMatchObject([413, { error: 'Request body exceeds 65536 bytes' }]);
    });

    it('rejects a request with a session cookie from another site', async () => {
      const reply = await test.call('POST', '/api/jobs', {
        body: chatBody(),
        headers: { cookie: 'session=1', origin: 'https://evil.example' },
      });
      expect([reply.status, reply.body]).toMatchObject([
        403,
        { error: 'Cross-origin request refused', code: 'forbidden' },
      ]);
    });

    it('rejects a second start in a busy thread', async () => {
      const gate = createGate();
      model.enqueue({ ...textReply(['later']), before: gate });
      const first = chatBody();
      const jobId = jobIdOf(await jobs.start(first));
      const reply = await jobs.start(chatBody({ _threadId: first._threadId }));
      expect([reply.status, reply.body]).toMatchObject([
        409,
        { error: 'Another job is already running in this thread', code: 'thread_busy', jobId },
      ]);
      gate.open();
      await jobs.ended(jobId);
    });

    it('creates a separate thread of another tenant under the same name', async () => {
      model.enqueue(textReply(['mine']));
      const body = chatBody();
      await jobs.ended(jobIdOf(await jobs.start(body)));
      const { member } = await test.people.workspaceOf('elsewhere');
      model.enqueue(textReply(['theirs']));
      const reply = await jobs.start(chatBody({ _threadId: body._threadId }), { key: member.key });
      expect(reply.status).toBe(202);
      await eventually('the other job has ended', async () => {
        const { body: status } = await test.call('GET', `/api/jobs/${jobIdOf(reply)}/status`, { key: member.key });
        return (status as { completedAt: unknown }).completedAt ?? undefined;
      });
    });
  });

  describe('POST /api/jobs/:id/abort', () => {
    it('cancels a running job, closes its model request, and keeps the streamed text', async () => {
      const gate = createGate();
      model.enqueue({ body: [textChunk('half an ans'), gate], end: 'hang' });
      const jobId = jobIdOf(await jobs.start(chatBody()));
      await eventually('text flows', async () =>
        (await jobs.status(jobId))['content_length'] === 11 ? true : undefined,
      );
      const seen = model.requests.at(-1);
      const reply = await test.call('POST', `/api/jobs/${jobId}/abort`, { key });
      expect([reply.status, reply.body]).toEqual([200, { aborted: true, state: 'aborted', status: 'aborted' }]);
      expect(await jobs.status(jobId)).toMatchObject({ status: 'aborted', job_status: 'cancelled', error: null });
      await eventually('the model request is gone', () => (seen?.aborted === true ? true : undefined));
      gate.open();
      const again = await test.call('POST', `/api/jobs/${jobId}/abort`, { key });
      expect(again.body).toEqual({ aborted: true, state: 'aborted', status: 'aborted' });
    });

    it('ignores a body of another type', async () => {
      const gate = createGate();
      model.enqueue({ body: [textChunk('half'), gate], end: 'hang' });
      const jobId = jobIdOf(await jobs.start(chatBody()));
      await jobs.shows(jobId, 4);
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' };
      const response = await fetch(`${test.url}/api/jobs/${jobId}/abort`, { method: 'POST', headers, body: '{}' });
      expect([response.status, await response.json()]).toMatchObject([200, { aborted: true }]);
      gate.open();
    });

    it('returns `not_found` to an API key that may not read jobs', async () => {
      model.enqueue(textReply(['Done']));
      const jobId = jobIdOf(await jobs.start(chatBody()));
      const { owner } = await test.people.workspaceOf('jobs');
      const approver = await test.people.keyOf(owner.principal, ['approve']);
      const reply = await test.call('POST', `/api/jobs/${jobId}/abort`, { key: approver.key });
      expect([reply.status, reply.body]).toMatchObject([200, { aborted: false, state: 'not_found' }]);
      expect(await jobs.ended(jobId)).toMatchObject({ job_status: 'completed' });
    });

    it('returns `aborted` to 20 parallel aborts of a running job', async () => {
      const gate = createGate();
      model.enqueue({ body: [textChunk('begun'), gate], end: 'hang' });
      const jobId = jobIdOf(await jobs.start(chatBody()));
      await jobs.shows(jobId, 5);
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => test.call('POST', `/api/jobs/${jobId}/abort`, { key })),
      );
      gate.open();
      const bodies = new Set(replies.map(({ status, body }) => JSON.stringify([status, body])));
      expect([...bodies]).toEqual([JSON.stringify([200, { aborted: true, state: 'aborted', status: 'aborted' }])]);
    });
  });

  describe('GET /api/jobs/:id/status', () => {
    it('returns new text to a polling client without changing the job', async () => {
      const gate = createGate();
      model.enqueue({
        ...textReply(['Hello ', '👋 there']),
        body: [textChunk('Hello '), gate, ...textReply(['👋 there']).body],
      });
      const jobId = jobIdOf(await jobs.start(chatBody()));
      await eventually('text flows', async () =>
        (await jobs.status(jobId))['content_length'] === 6 ? true : undefined,
      );
      expect(await jobs.status(jobId, '?offset=6&attempt=0')).toMatchObject({ content_delta: '', content_length: 6 });
      const [once, twice] = [await jobs.status(jobId), await jobs.status(jobId)];
      expect(once).toEqual(twice);
      gate.open();
      await jobs.ended(jobId);
      expect(await jobs.status(jobId, '?offset=6')).toMatchObject({ content_delta: '👋 there', status: 'complete' });
      expect(await jobs.status(jobId, '?offset=7')).toMatchObject({ content: 'Hello 👋 there', content_reset: true });
      expect(await jobs.status(jobId, '?offset=99')).toMatchObject({ content: 'Hello 👋 there', content_reset: true });
    });

    it('returns the error of a failed job', async () => {
      model.enqueue({ status: 400, body: ['{"error":{"message":"no such model"}}'] });
      const status = await jobs.ended(jobIdOf(await jobs.start(chatBody())));
      expect(status).toMatchObject({ status: 'error', job_status: 'failed', error: expect.any(String) });
    });
  });
});
