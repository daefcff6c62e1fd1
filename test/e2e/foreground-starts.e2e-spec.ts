import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { type Reply, startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { chatBody, restJobs } from '../harness/rest-jobs.js';
import { connect, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';
import { workflowDocument } from '../harness/workflow-document.js';

const OFF = 'background_jobs_off';
const SAVE = `mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
const RUNS = `query($id: ID!) { trigger(id: $id) { failed lastError runs { status jobId error { code } } } }`;

describe('BACKGROUND_JOBS_ENABLED=false', () => {
  let database: TestDatabase;
  let server: SyntrixServer;
  let test: TestApi;
  let admin: TestMember;
  let user: GraphqlMember;
  const later = new Date(Date.now() + 3_600_000).toISOString();

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await startSyntrix();
    const env = { BACKGROUND_JOBS_ENABLED: 'false', ALLOW_PRIVATE_TOOL_URLS: 'true' };
    test = await startTestApi(database, { env });
    ({ admin } = await test.people.workspaceOf('foreground'));
    user = graphqlMember(test, admin.key);
    await connect(test, server, { key: admin.key });
  });

  afterAll(async () => {
    const { rows } = await database.postgres.engine.query('SELECT id FROM job');
    await test.close();
    await server.close();
    await database.close();
    expect(rows).toEqual([]);
  });

  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Reply> =>
    test.call('POST', path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const signed = (body: object) => ({ 'x-syntrix-signature': signatureOf(signingSecret, JSON.stringify(body)) });
  const save = async (definition: object) => {
    const { saveTrigger } = await user.query(SAVE, { definition });
    expect(saveTrigger).toMatchObject({ userErrors: [] });
    return (saveTrigger as { trigger: { id: string } }).trigger.id;
  };
  const failed = (id: string) =>
    eventually('the run of the trigger has failed', async () => {
      const { trigger } = await user.query(RUNS, { id });
      return (trigger as { failed: number }).failed === 1 ? trigger : undefined;
    });
  const failedRun = {
    failed: 1,
    lastError: expect.stringContaining('BACKGROUND_JOBS_ENABLED'),
    runs: [{ status: 'FAILED', jobId: null, error: { code: OFF } }],
  };

  it('refuses startAt of a chat with background_jobs_off, by GraphQL and with 501 by REST', async () => {
    expect(await user.start({ message: 'Go', startAt: later })).toMatchObject({
      jobId: null,
      userErrors: [{ code: OFF }],
    });
    expect(await restJobs(test, admin.key).start(chatBody({ _startAt: later }))).toMatchObject({
      status: 501,
      body: { code: OFF, retryable: false },
    });
  });

  it('refuses startAt of a workflow with background_jobs_off, by GraphQL and with 501 by REST', async () => {
    const definition = workflowDocument({ start: 'start', end: 'output' }, ['start > end']);
    const load = `mutation($definition: JSON!) { importWorkflow(input: { definition: $definition }) { workflow { id } } }`;
    const { importWorkflow } = await user.query(load, { definition });
    const { id: workflowId } = (importWorkflow as { workflow: { id: string } }).workflow;
    const publish = `mutation($id: ID!) { publishWorkflow(input: { id: $id }) { userErrors { message } } }`;
    expect(await user.query(publish, { id: workflowId })).toEqual({ publishWorkflow: { userErrors: [] } });
    const start = `mutation($input: StartWorkflowInput!) { startWorkflow(input: $input) { jobId userErrors { code } } }`;
    const input = { workflowId, prompt: 'Go', startAt: later };
    expect(await user.query(start, { input })).toEqual({ startWorkflow: { jobId: null, userErrors: [{ code: OFF }] } });
    const options = { key: admin.key, body: { ...input, threadId: newId(), messageId: newId() } };
    expect(await test.call('POST', '/api/workflows/background', options)).toMatchObject({
      status: 501,
      body: { code: OFF, retryable: false },
    });
  });

  it('accepts a request to /hooks, and its run fails with background_jobs_off', async () => {
    const secretsRef = 'SYNTRIX_SECRET'; // set by `connect`
    const start = { prompt: "'Go'" };
    const id = await save({ triggerId: 'hook', database: 'shop', source: 'webhook', secretsRef, start });
    const body = { action: 'opened' };
    expect(await post(`/hooks/${id}`, body, signed(body))).toMatchObject({ status: 200, body: 'OK' });
    expect(await failed(id)).toEqual(failedRun);
  });

  it('accepts the change of a document, and the run of its trigger fails with background_jobs_off', async () => {
    const on = { database: 'shop', collection: 'orders', events: ['create'] };
    const id = await save({ triggerId: 'change', ...on, start: { prompt: "'Go'" } });
    const change = { type: 'create', collection: 'orders', documentId: randomUUID(), timestamp: 1, lsn: randomUUID() };
    const changes = [{ ...change, document: { content: 'x' } }];
    const published = await test.call('POST', '/api/triggers/shop/changes', { key: admin.key, body: { changes } });
    expect(published.status).toBeLessThan(300);
    expect(await failed(id)).toEqual(failedRun);
  });

  it('answers a delivery of a Syntrix database with 501, so that the sender repeats it', async () => {
    const chat = `users/demo-user/orch-chats/${randomUUID()}`;
    const messages = `${chat}/messages`;
    const delivery = {
      ...{ triggerId: 'on-user-message', event: 'create', collection: messages, docKey: `${messages}/m1` },
      ...{ after: { id: 'm1', role: 'user', content: 'Hello', createdAt: 1 }, ts: Date.now() },
    };
    const off = { status: 501, body: 'Background jobs are switched off' };
    expect(await post('/webhook/llm', delivery, signed(delivery))).toMatchObject(off);
    expect(await post('/webhook/llm', delivery, signed(delivery))).toMatchObject(off);
    expect(await post('/webhook/llm', delivery)).toMatchObject({ status: 401 });
  });
});
