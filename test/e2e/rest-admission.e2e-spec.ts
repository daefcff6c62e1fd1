import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { chatBody, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';

const keyRule = 'must be 1 to 255 visible ASCII characters and must not begin with "trigger:"';

describe('REST admission by idempotency key', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;
  let key: string;
  let jobs: RestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
    key = (await test.people.workspaceOf('admissions')).owner.key;
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

  it('starts one job and one model call for many requests', async () => {
    model.enqueue(textReply(['once']));
    const body = chatBody({ _admissionId: 'twenty' });
    const replies = await Promise.all(Array.from({ length: 20 }, () => jobs.start(body)));
    expect(new Set(replies.map(jobIdOf)).size).toBe(1);
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(1);
    const replays = replies.filter(({ status }) => status === 200);
    expect(replays).toHaveLength(19);
    expect(replays.every(({ headers }) => headers.get('idempotent-replayed') === 'true')).toBe(true);
    await jobs.ended(jobIdOf(replies[0] ?? (await jobs.start(body))));
  });

  it('returns the same job after its end', async () => {
    model.enqueue(textReply(['done']));
    const body = chatBody();
    const headers = { 'idempotency-key': 'ended' };
    const jobId = jobIdOf(await jobs.start(body, { headers }));
    await jobs.ended(jobId);
    const again = await jobs.start({ ...body, _backgroundMode: 'another view' }, { headers });
    expect([again.status, again.body]).toEqual([
      200,
      { jobId, status: 'complete', threadId: body._threadId, messageId: body._messageId },
    ]);
    const other = await jobs.start({ ...body, temperature: 1 }, { headers });
    expect([other.status, other.body]).toMatchObject([
      422,
      { error: 'Idempotency key was already used with a different request', code: 'idempotency_key_mismatch' },
    ]);
  });

  it('leaves the key free when its start was rejected', async () => {
    const headers = { 'idempotency-key': 'refused-then-used' };
    expect((await jobs.start(chatBody({ messages: [] }), { headers })).status).toBe(400);
    model.enqueue(textReply(['fine']));
    const reply = await jobs.start(chatBody(), { headers });
    expect(reply.status).toBe(202);
    await jobs.ended(jobIdOf(reply));
  });

  it('rejects a key with the prefix of jobs that a trigger starts', async () => {
    const body = chatBody({ _admissionId: 'trigger:night:1' });
    const reply = await jobs.start(body);
    expect([reply.status, reply.body]).toMatchObject([400, { error: `An idempotency key ${keyRule}` }]);
  });

  it('finds the job of the key', async () => {
    model.enqueue(textReply(['found']));
    const body = chatBody({ _admissionId: 'find-me' });
    const jobId = jobIdOf(await jobs.start(body));
    await jobs.ended(jobId);
    const { _threadId: threadId, _messageId: messageId } = body;
    const found = await test.call('GET', '/api/jobs/admission/find-me', { key });
    expect([found.status, found.body]).toEqual([200, { jobId, status: 'complete', threadId, messageId }]);
  });

  it('finds the job of a message by the longest ids that a start accepts', async () => {
    model.enqueue(textReply(['found']));
    const [threadId, messageId] = ['t'.repeat(256), 'm'.repeat(256)];
    const jobId = jobIdOf(await jobs.start(chatBody({ _threadId: threadId, _messageId: messageId })));
    await jobs.ended(jobId);
    const find = (message: string) => test.call('GET', `/api/jobs?threadId=${threadId}&messageId=${message}`, { key });
    expect((await find(messageId)).body).toEqual({ jobId, status: 'complete', threadId, messageId });
    expect((await find(`${messageId}m`)).body).toMatchObject({ code: 'bad_request', field: 'messageId' });
  });

  it.each([
    ['/api/jobs/admission/unknown', 404, 'No job for this admission'],
    [`/api/jobs/admission/${'x'.repeat(256)}`, 400, 'Missing admission ID'],
    ['/api/jobs/admission/', 400, 'Missing admission ID'],
  ])('responds to a lookup at %.40s with %i', async (path, status, error) => {
    const reply = await test.call('GET', path, { key });
    expect([reply.status, reply.body]).toMatchObject([status, { error }]);
  });

  it('starts nothing when the key was aborted first', async () => {
    const abort = await test.call('POST', '/api/jobs/admission-abort', { key, body: { admissionId: 'too-early' } });
    expect([abort.status, abort.body]).toEqual([
      200,
      { aborted: false, pending: true, jobId: null, state: 'cancel_requested' },
    ]);
    const reply = await jobs.start(chatBody({ _admissionId: 'too-early' }));
    expect([reply.status, reply.body]).toMatchObject([
      409,
      { error: 'This admission was cancelled before it started', code: 'admission_cancelled' },
    ]);
    expect((await test.call('GET', '/api/jobs/admission/too-early', { key })).status).toBe(404);
  });

  it('cancels the job on abort, with the same response when repeated', async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('never '), gate], end: 'hang' });
    const jobId = jobIdOf(await jobs.start(chatBody({ _admissionId: 'stop-me' })));
    await jobs.shows(jobId, 6);
    const body = { admissionId: 'stop-me' };
    const abort = await test.call('POST', '/api/jobs/admission-abort', { key, body });
    expect(abort.body).toEqual({ aborted: true, pending: false, jobId, state: 'aborted' });
    const again = await test.call('POST', '/api/jobs/admission-abort', { key, body });
    expect(again.body).toEqual({ aborted: true, pending: false, jobId, state: 'aborted' });
    gate.open();
  });

  it.each([
    [{}, 'Missing admission ID'],
    [{ admissionId: '' }, 'Missing admission ID'],
    [{ admissionId: 5 }, `Invalid request body: admissionId ${keyRule}`],
    [{ admissionId: 'x'.repeat(256) }, `Invalid request body: admissionId ${keyRule}`],
    [{ admissionId: 'trigger:night:1' }, `Invalid request body: admissionId ${keyRule}`],
  ])('rejects an invalid key of an abort: %#', async (body, error) => {
    const reply = await test.call('POST', '/api/jobs/admission-abort', { key, body });
    expect([reply.status, reply.body]).toMatchObject([400, { error }]);
  });
});
