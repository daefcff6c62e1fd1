import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { AgentsService } from '#chat';
import { jobKinds, JobStarter } from '#jobs';
import { newId } from '#platform';
import { SchedulesService } from '#schedules';
import { WorkflowsService } from '#workflows';

import { Changes } from '../../libs/triggers/src/inbound/changes.service.js';
import { TriggersService } from '../../libs/triggers/src/inbound/triggers.service.js';
import {
  type GivenChannel,
  NotificationChannels,
} from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { type Reply, startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { connect } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { chatBody, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';
import { connect as connectSyntrix, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';
import { sendCalls } from '../harness/tool-queue.js';
import { workflowDocument } from '../harness/workflow-document.js';
import { publish, sketch } from '../harness/workflows.js';

describe('BACKGROUND_JOBS_ENABLED=false', () => {
  const JOB = 'query($id: ID!) { job(id: $id) { status content error { code } } }';

  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;
  let owner: TestMember;
  let user: GraphqlMember;
  let rest: RestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    const env = { MODEL_BASE_URL: model.url, BACKGROUND_JOBS_ENABLED: 'false', FOREGROUND_GRACE_MS: '4000' };
    test = await startTestApi(database, { env });
    ({ owner } = await test.people.workspaceOf('foreground'));
    user = graphqlMember(test, owner.key);
    rest = restJobs(test, owner.key);
  });

  afterAll(async () => {
    await test.close();
    await model.close();
    await database.close();
  });

  /** A job whose model does not end before the gate opens. */
  const start = async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('a'), gate, textChunk('b'), ...textReply([]).body] });
    const { jobId } = await user.start({ message: 'Go' });
    if (jobId === null) throw new Error('not started');
    return { jobId, gate };
  };
  const becomes = (jobId: string, status: string) =>
    eventually(`the job is ${status}`, async () => {
      const { job } = await user.query(JOB, { id: jobId });
      return (job as { status: string }).status === status ? job : undefined;
    });
  const reasonOf = async (jobId: string) => {
    const { rows } = await database.postgres.workerPool.query<{ reason: string }>(
      `SELECT body->>'reason' AS reason FROM job_event WHERE job_id = $1 AND type = 'job-finished'`,
      [jobId],
    );
    return rows[0]?.reason;
  };
  const EVENTS = 'subscription($id: ID!) { jobEvents(jobId: $id) { __typename } }';

  it('cancels a job that no client follows after its start', async () => {
    const { jobId } = await start();
    await becomes(jobId, 'CANCELLED');
    expect(await reasonOf(jobId)).toBe('client_disconnected');
  });

  it('runs a job while a client follows it, and cancels it after the last client disconnects', async () => {
    const followed = await start();
    const stream = await rest.watch(followed.jobId);
    await stream.until(() => true);
    const client = connect(test, { authorization: `Bearer ${owner.key}` });
    const events = client.iterate({ query: EVENTS, variables: { id: followed.jobId } });
    await events.next();
    // The grace time of a job that was started later ends later.
    await becomes((await start()).jobId, 'CANCELLED');
    stream.leave();
    await becomes((await start()).jobId, 'CANCELLED');
    expect(await user.query(JOB, { id: followed.jobId })).toMatchObject({ job: { status: 'RUNNING' } });
    await client.dispose();
    await becomes(followed.jobId, 'CANCELLED');
    expect(await reasonOf(followed.jobId)).toBe('client_disconnected');
  });

  it('cancels the job of a /v1 request when its client disconnects, and completes it when the client stays', async () => {
    const complete = (signal: AbortSignal) =>
      fetch(`${test.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: 'Go' }] }),
        signal,
      });
    const gates = [createGate(), createGate()] as const;
    for (const gate of gates) model.enqueue({ body: [textChunk('a'), gate, textChunk('b'), ...textReply([]).body] });
    const leaving = new AbortController();
    const left = await complete(leaving.signal);
    expect(left.status).toBe(200);
    const stayed = await complete(new AbortController().signal);
    leaving.abort();
    await becomes(left.headers.get('x-job-id') ?? '', 'CANCELLED');
    gates[1].open();
    expect(await stayed.text()).toContain('data: [DONE]');
    await becomes(stayed.headers.get('x-job-id') ?? '', 'COMPLETED');
  });
});

describe('BACKGROUND_JOBS_ENABLED=false', () => {
  const OFF = 'background_jobs_off';
  const SAVE = `mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
  const RUNS = `query($id: ID!) { trigger(id: $id) { failed lastError runs { status jobId error { code } } } }`;

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
    await connectSyntrix(test, server, { key: admin.key });
  });

  afterAll(async () => {
    const { rows } = await database.postgres.workerPool.query('SELECT id FROM job');
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

describe('pg-boss in a running system', () => {
  /** Its action needs a queue message for each end of a job. */
  const plugin = `import { defineHook, definePlugin } from '@nightshift/plugin';
export default definePlugin({ name: 'audit', version: '1', hooks: [
  defineHook({ on: 'onJobFinished', name: 'finished', run() {} }),
] });
`;

  const channel: GivenChannel = {
    ...{ kind: 'webhook', address: 'https://hooks.example.com/', events: ['job_completed'], enabled: true },
    ...{ includeTitle: false, isWorkspaceWide: true },
  };

  let folder: string;
  let database: TestDatabase;
  let test: TestApi;
  /** A process that accepts jobs and runs none. */
  let accepting: TestJobs;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-queues-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(process.cwd(), 'node_modules', '@nightshift'), join(folder, 'node_modules', '@nightshift'));
    const file = join(folder, 'audit.mjs');
    writeFileSync(file, plugin);
    database = await createTestDatabase();
    test = await startTestApi(database, { env: { PLUGINS: file } });
    accepting = await openTestJobs(database);
  });

  afterAll(async () => {
    await accepting.close();
    await test.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Queues with a message that a handler has completed, by pg-boss's own table. */
  const workedQueues = async () =>
    (
      await database.postgres.workerPool.query<{ name: string }>(
        `SELECT DISTINCT name FROM pgboss.job WHERE state = 'completed' AND name NOT LIKE '\\_\\_pgboss%' ORDER BY name`,
      )
    ).rows.map(({ name }) => name);

  /** A workflow that waits for a second, each minute and as a tool call. */
  const runWorkflow = async () => {
    const { owner } = await test.people.workspaceOf('queues');
    const pause = { type: 'wait', durationMs: 1_000 };
    const nodes = { pause, out: { type: 'output', format: 'text' } };
    const definition = sketch(nodes, ['start -> pause', 'pause -> out'], { name: 'Pause' });
    const { app } = test.api;
    const { principal, key } = owner;
    await app.get(NotificationChannels).save(principal, null, channel);
    const { id: workflowRef } = await publish({ app }, principal, definition);
    const terms = { cron: '* * * * *', timeZone: 'UTC', missed: 'once', prompt: 'Hello', enabled: true } as const;
    await app.get(SchedulesService).save(principal, { id: null, workflowRef, ...terms });
    await app.get(WorkflowsService).offerAsTool(principal, workflowRef, true);
    await app.get(AgentsService).create(principal, { name: 'Clerk', tools: ['workflow.*'] });
    const body = { agent: 'clerk', tool_name: 'workflow.pause', arguments: { input: 'Hello' } };
    expect((await test.call('POST', '/v1/tools/execute', { key, body })).status).toBe(200);
    await fireTriggers(principal, workflowRef);
  };

  /** A change that starts a workflow, and is sent to this server. */
  const fireTriggers = async (principal: MemberPrincipal, workflow: string) => {
    const { app } = test.api;
    const on = { collection: 'messages', events: ['create'] };
    const definitions = [
      { ...on, triggerId: 'starts', start: { kind: 'workflow', workflow } },
      { ...on, triggerId: 'sends', url: '/nowhere' },
    ];
    for (const definition of definitions) await app.get(TriggersService).save(principal, { definition, enabled: true });
    const change = { type: 'create', collection: 'messages', documentId: 'm-1', timestamp: 0 } as const;
    await app.get(Changes).publish(principal, 'default', [change]);
  };

  it('delivers each kind of background work to a handler registered with work', async () => {
    const expected = [
      ...['hook.action', 'interrupt.due', 'job.chat', 'job.due', 'job.workflow'],
      ...['maintenance.delayed-jobs', 'maintenance.hook-actions', 'maintenance.interrupts'],
      ...['maintenance.notifications', 'maintenance.retention'],
      ...['maintenance.schedules', 'maintenance.sub-jobs', 'maintenance.tool-queue'],
      ...['maintenance.triggers', 'maintenance.webhooks', 'notification.due'],
      ...['schedule.due', 'schedule.start', 'sub-job.due', 'tool-execution', 'tool-results'],
      ...['trigger.changes', 'trigger.start', 'webhook.deliver'],
    ];
    await accepting.app.get(JobStarter).start(accepting.request({ kind: 'chat', startAt: Date.now() + 1_000 }));
    for (const kind of jobKinds) await accepting.app.get(JobStarter).start(accepting.request({ kind }));
    await runWorkflow();
    await sendCalls(accepting.app, accepting.workspaceId, ['a tool that is gone']);

    const worked = await eventually('each queue was worked', async () => {
      const names = await workedQueues();
      return names.length < expected.length ? undefined : names;
    });
    expect(worked).toEqual(expected);
  });
});
