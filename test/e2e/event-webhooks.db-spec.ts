import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { type InterruptKind, type JobEventBodies, JobUpdater } from '#jobs';
import { newId } from '#platform';

import { JobStopper } from '../../libs/jobs/src/cancel/job-stopper.js';
import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { interruptOpened, openInterruptRow } from '../../libs/jobs/src/interrupts/new-interrupt.repository.js';
import { InterruptTimers } from '../../libs/jobs/src/resolve/interrupt-timers.js';
import { type ClaimedJob, LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { JobStarter } from '../../libs/jobs/src/start/job-starter.js';
import { DeliveryWorker } from '../../libs/triggers/src/outbound/deliveries/delivery-worker.js';
import { type WebhookEvent, webhookEvents } from '../../libs/triggers/src/outbound/webhook-endpoint.js';
import { WebhookEndpoints } from '../../libs/triggers/src/outbound/webhook-endpoints.service.js';
import { claimOne } from '../harness/claim-one.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';
import { type NotificationStage, notificationStage } from '../harness/notifications.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

let database: TestDatabase;
let identities: TestIdentities;
let jobs: TestJobs;
let stage: NotificationStage;
let webhooks: TestWebhooks;
let here: Record<Role, MemberPrincipal>;
let watching = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  jobs = await openTestJobs(database);
  webhooks = await openTestWebhooks(database);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  const { workspaceId, userId } = here.owner;
  const claim = async (jobId: string) => {
    const job = await claimOne(jobs.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
    if (job === undefined) throw new Error('the job cannot be claimed');
    return job;
  };
  const request: TestJobs['request'] = (changes) => jobs.request({ workspaceId, ...changes });
  stage = notificationStage({ ...jobs, workspaceId, userId, request, claim });
  watching = new AbortController();
});
afterEach(async () => {
  watching.abort();
  await webhooks.reset();
});
afterAll(async () => {
  await webhooks.close();
  await jobs.close();
  identities.auth.close();
  await database.close();
});

const subscribe = async (events: readonly WebhookEvent[], changes: object = {}) => {
  const { endpoint } = await webhooks.app.get(WebhookEndpoints).save(here.admin, null, {
    ...{ url: webhooks.receiver.url(), description: '', events, enabled: true, signature: 'standard', headers: {} },
    ...{ onlyUnwatched: false, includeContent: false, ...changes },
  });
  return endpoint.id;
};
interface Body {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}
const written = async () => {
  const rows = await webhooks.rows<{ body: string; endpoint_id: string }>(
    'SELECT body, endpoint_id FROM webhook_delivery WHERE workspace_id = $1 ORDER BY ordinal',
    [here.owner.workspaceId],
  );
  return rows.map(({ body }) => JSON.parse(body) as Body);
};
/** Stores an open request of a job. */
const open = async (jobId: string, kind: InterruptKind, isRefused = false) => {
  const id = newId();
  await jobs.rows(
    `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request, refused) VALUES ($1, $2, $3, $4, '', '{}', $5)`,
    [here.owner.workspaceId, id, jobId, kind, isRefused],
  );
  return id;
};
const toolCall = (status: 'complete' | 'error'): JobEventBodies['tool-call-updated'] => ({
  ...{ round: 1, internalStatus: status },
  call: {
    id: 'call_1',
    name: 'search',
    status,
    args: '{"q":"secret plan"}',
    ...(status === 'error' && { error: 'It broke' }),
  },
});

describe('webhooks of events', () => {
  it('reach the endpoint after the transaction that ends a job wrote them', async () => {
    await subscribe(['job.completed']);
    const job = await stage.startClaimed();
    await stage.end(job);
    const [body] = await written();
    const { workspaceId, jobId } = job;
    expect(body).toMatchObject({
      type: 'job.completed',
      data: { workspaceId, jobId, kind: 'chat', status: 'completed', viewers: 0 },
    });
    const [event] = await jobs.rows<{ seq: number; at: Date }>(
      `SELECT seq, at FROM job_event WHERE job_id = $1 AND type = 'job-finished'`,
      [jobId],
    );
    expect([body?.data['seq'], body?.timestamp]).toEqual([event?.seq, event?.at.toISOString()]);
    await webhooks.app.get(DeliveryWorker).start();
    await eventually('it arrived', () => webhooks.receiver.received[0]);
    expect(JSON.parse(webhooks.receiver.received[0]?.body.toString() ?? '')).toEqual(body);
  });

  it('report a failed job with its error, and a job that waits', async () => {
    await subscribe(['job.failed', 'job.waiting']);
    const [failing, waiting] = [await stage.startClaimed(), await stage.startClaimed()];
    const error = { code: 'model_error', message: 'The model is gone', retryable: true };
    const [finished] = endOf(failing, 1).events;
    if (finished?.type !== 'job-finished') throw new Error('endOf ends the job');
    const failed = {
      type: 'job-finished',
      body: { ...finished.body, status: 'failed', reason: 'model_error', error },
    } as const;
    const log = jobs.app.get(EventLogRepository);
    await log.commit([writeOf(failing, 1, { events: [failed], move: { to: 'failed', reason: 'model_error', error } })]);
    const interruptId = await open(waiting.jobId, 'human_input');
    const waits = { type: 'job-waiting', body: { interruptIds: [interruptId] } } as const;
    await log.commit([writeOf(waiting, 1, { events: [waits], move: { to: 'waiting', externalUpdates: 0 } })]);
    expect(await written()).toMatchObject([
      {
        type: 'job.failed',
        data: {
          jobId: failing.jobId,
          status: 'failed',
          errorCode: 'model_error',
          error: error.message,
          retryable: true,
        },
      },
      { type: 'job.waiting', data: { jobId: waiting.jobId, status: 'waiting', interruptIds: [interruptId] } },
    ]);
  });

  it('reach only enabled endpoints of the workspace that subscribe to the event', async () => {
    await subscribe(['job.failed']);
    await subscribe(['job.completed'], { enabled: false });
    const elsewhere = await identities.workspaceOf(newId());
    await webhooks.app.get(WebhookEndpoints).save(elsewhere.admin, null, {
      ...{ url: webhooks.receiver.url(), description: '', events: webhookEvents, enabled: true, signature: 'standard' },
      ...{ onlyUnwatched: false, includeContent: false },
    });
    await stage.end(await stage.startClaimed());
    expect(
      await webhooks.rows('SELECT 1 FROM webhook_delivery WHERE workspace_id IN ($1, $2)', [
        here.owner.workspaceId,
        elsewhere.owner.workspaceId,
      ]),
    ).toEqual([]);
  });

  it('roll back with the write of a worker that lost its lease', async () => {
    await subscribe(['job.completed']);
    const job = await stage.startClaimed();
    await stage.end({ ...job, epoch: job.epoch - 1 });
    expect(await written()).toEqual([]);
  });

  it('report the cancellation of a waiting job', async () => {
    await subscribe(['job.cancelled', 'job.completed', 'job.failed']);
    const jobId = await stage.start();
    await jobs.app.get(JobStopper).stop(stage.scope, jobId, 'not needed');
    expect(await written()).toMatchObject([
      { type: 'job.cancelled', data: { jobId, status: 'cancelled', reason: 'not needed' } },
    ]);
    const [message] = await webhooks.rows(`SELECT data FROM pgboss.job WHERE name = 'webhook.deliver'`);
    expect(message).toMatchObject({ data: { workspaceId: here.owner.workspaceId, number: 0 } });
  });

  it('report failed tool calls only, without arguments unless the endpoint includes content', async () => {
    await subscribe(['tool_call.failed']);
    await subscribe(['tool_call.failed'], { includeContent: true });
    const job = await stage.startClaimed();
    const events = (['complete', 'error'] as const).map(
      (status) => ({ type: 'tool-call-updated', body: toolCall(status) }) as const,
    );
    await jobs.app.get(EventLogRepository).commit([{ ...writeOf(job, 1), events }]);
    const bodies = await written();
    expect(bodies).toHaveLength(2);
    expect(bodies).toMatchObject(
      Array(2).fill({
        type: 'tool_call.failed',
        data: { tool: 'search', callId: 'call_1', error: 'It broke', retryable: false },
      }),
    );
    expect(bodies.map((body) => JSON.stringify(body).includes('secret plan')).sort()).toEqual([false, true]);
  });

  it('contain the first events after an endpoint is saved, also when one commit covers a workspace without endpoints', async () => {
    const log = jobs.app.get(EventLogRepository);
    const events = [{ type: 'tool-call-updated', body: toolCall('error') }] as const;
    const job = await stage.startClaimed();
    const other = await identities.workspaceOf(newId());
    const { workspaceId } = other.owner;
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ workspaceId }));
    const beside = await claimOne(jobs.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
    if (beside === undefined) throw new Error('the job cannot be claimed');
    const commit = (number: number) =>
      log.commit([
        { ...writeOf(job, number), events },
        { ...writeOf(beside, number), events },
      ]);
    const before = await commit(1);
    await subscribe(['tool_call.failed']);
    const after = await commit(2);
    const last = await commit(3);
    expect([...before, ...after, ...last].filter((result) => result instanceof Error)).toEqual([]);
    expect((await written()).map(({ data }) => data['jobId'])).toEqual([job.jobId, job.jobId]);
  });

  it('report each node of a packed log row, with its own sequence number', async () => {
    await subscribe(['node.finished']);
    const job = await stage.startClaimed();
    const node = { label: 'n', type: 'http', path: [] };
    const events = Array.from(
      { length: 20 },
      (_, i) =>
        ({
          type: 'node-finished',
          body: { ...node, nodeRunId: `run ${i}`, nodeId: `n${i}`, status: 'completed', output: 'text' },
        }) as const,
    );
    await jobs.app.get(EventLogRepository).commit([{ ...writeOf(job, 1), events }]);
    const bodies = await written();
    expect(bodies.map(({ data }) => data['nodeId']).sort()).toEqual(events.map(({ body }) => body.nodeId).sort());
    const seqOf = new Map(bodies.map(({ data }) => [data['nodeId'], Number(data['seq'])]));
    expect((seqOf.get('n19') ?? 0) - (seqOf.get('n0') ?? 0)).toBe(19);
    expect(JSON.stringify(bodies)).not.toContain('output');
  });

  it('report requests that are opened and settled without a lease', async () => {
    await subscribe(['interrupt.opened', 'interrupt.resolved']);
    const { workspaceId, jobId } = await stage.startClaimed();
    const interruptId = await open(jobId, 'human_input');
    const opened = {
      interruptId,
      kind: 'human_input',
      title: 'Plan?',
      expiresAt: null,
      request: { text: 'secret plan' },
    };
    await jobs.app.get(JobUpdater).update(workspaceId, jobId, async (job) => {
      job.append({ type: 'interrupt-opened', body: opened });
      job.append({ type: 'interrupt-resolved', body: { interruptId, outcome: 'answered', decidedAt: 1 } });
      return Promise.resolve();
    });
    const bodies = await written();
    expect(bodies.map(({ type }) => type).sort()).toEqual(['interrupt.opened', 'interrupt.resolved']);
    expect(bodies).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ data: expect.objectContaining({ interruptId, interruptKind: 'human_input' }) }),
      ]),
    );
    expect(JSON.stringify(bodies)).not.toContain('secret plan');
  });

  it('report a request that expires, and not as resolved', async () => {
    await subscribe(['interrupt.resolved', 'interrupt.expired']);
    const { workspaceId, jobId } = await stage.startClaimed();
    const interruptId = newId();
    await jobs.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request, expires_at)
       VALUES ($1, $2, $3, 'human_input', 'Plan?', '{}', clock_timestamp() - interval '1 hour')`,
      [workspaceId, interruptId, jobId],
    );
    const timers = jobs.app.get(InterruptTimers);
    const expire = () => Promise.resolve({ status: 'expired', outcome: { outcome: 'reject' }, by: null } as const);
    timers.register({ kind: 'human_input', expire });
    await timers.sweep();
    expect(await written()).toMatchObject([
      { type: 'interrupt.expired', data: { workspaceId, jobId, interruptId, outcome: 'reject' } },
    ]);
  });

  it('carry the number of viewers, and skip jobs with viewers for an endpoint with onlyUnwatched', async () => {
    const [all, unwatched] = [
      await subscribe(['job.completed']),
      await subscribe(['job.completed'], { onlyUnwatched: true }),
    ];
    const watched = await stage.startClaimed();
    await webhooks.rows(
      `INSERT INTO job_viewer (workspace_id, job_id, process, seen_at) VALUES ($1, $2, gen_random_uuid(), clock_timestamp())`,
      [watched.workspaceId, watched.jobId],
    );
    await stage.end(watched);
    expect(await written()).toMatchObject([{ data: { jobId: watched.jobId, viewers: 1 } }]);
    await stage.end(await stage.startClaimed());
    const rows = await webhooks.rows<{ endpoint_id: string }>(
      'SELECT endpoint_id FROM webhook_delivery WHERE workspace_id = $1',
      [watched.workspaceId],
    );
    expect(rows.map((row) => row.endpoint_id).sort()).toEqual([all, all, unwatched].sort());
  });

  it.each(['漢', '\u0001', '😀'])('keep a body below 20 KiB when its texts consist of %j', async (character) => {
    await subscribe(['tool_call.failed'], { includeContent: true });
    const job = await stage.startClaimed();
    const body = toolCall('error');
    const commit = async (number: number, argsLength: number) => {
      const call = { ...body.call, args: 'a'.repeat(argsLength), error: character.repeat(50_000) };
      const events = [{ type: 'tool-call-updated', body: { ...body, call } }] as const;
      expect(
        (await jobs.app.get(EventLogRepository).commit([{ ...writeOf(job, number), events }]))[0],
      ).not.toBeInstanceOf(Error);
    };
    await commit(1, 8_000);
    await commit(2, 15_000);
    const rows = await webhooks.rows<{ bytes: number }>(
      'SELECT octet_length(body) AS bytes FROM webhook_delivery WHERE workspace_id = $1',
      [here.owner.workspaceId],
    );
    expect(rows).toHaveLength(2);
    for (const { bytes } of rows) expect(bytes).toBeLessThanOrEqual(20_480);
  });

  it('name at most 100 of 1,000 requests that a job waits for', async () => {
    await subscribe(['job.waiting']);
    const job = await stage.startClaimed();
    const { rows } = await database.postgres.workerPool.query<{ id: string }>(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request)
       SELECT $1, gen_random_uuid(), $2, 'human_input', '', '{}' FROM generate_series(1, 1000) RETURNING id`,
      [job.workspaceId, job.jobId],
    );
    const interruptIds = rows.map(({ id }) => id);
    const events = [{ type: 'job-waiting', body: { interruptIds } }] as const;
    const move = { to: 'waiting', externalUpdates: 0 } as const;
    await jobs.app.get(EventLogRepository).commit([writeOf(job, 1, { events, move })]);
    expect(await written()).toMatchObject([{ data: { interruptIds: interruptIds.slice(0, 100) } }]);
  });

  it('announce no request that needs neither a person nor a client, and no wait for one', async () => {
    await subscribe(['job.waiting', 'interrupt.opened', 'interrupt.resolved', 'interrupt.expired']);
    const wait = async (job: ClaimedJob, interruptIds: readonly string[]) => {
      const events = [{ type: 'job-waiting', body: { interruptIds } }] as const;
      const move = { to: 'waiting', externalUpdates: 0 } as const;
      await jobs.app.get(EventLogRepository).commit([writeOf(job, 1, { events, move })]);
    };
    const show = (jobId: string, interruptId: string, kind: InterruptKind) =>
      jobs.app.get(JobUpdater).update(here.owner.workspaceId, jobId, (job) => {
        job.show({ type: 'interrupt-opened', body: { interruptId, kind, title: '', expiresAt: null, request: {} } });
        job.show({ type: 'interrupt-resolved', body: { interruptId, outcome: 'retry', decidedAt: 1 } });
        return Promise.resolve();
      });
    await wait(await stage.startClaimed(), []);
    const timers = await stage.startClaimed();
    for (const kind of ['provider_unavailable', 'plugin_missing', 'wait'] as const)
      await show(timers.jobId, await open(timers.jobId, kind), kind);
    await wait(
      timers,
      await jobs
        .rows<{ id: string }>('SELECT id FROM interrupt WHERE job_id = $1', [timers.jobId])
        .then((rows) => rows.map(({ id }) => id)),
    );
    const refusing = await stage.startClaimed({ input: { humanWait: 'reject' } });
    const refused = await open(refusing.jobId, 'human_input', true);
    await show(refusing.jobId, refused, 'human_input');
    await wait(refusing, [refused]);
    expect(await written()).toEqual([]);
    const client = await stage.startClaimed();
    const mixed = [await open(client.jobId, 'provider_unavailable'), await open(client.jobId, 'client_tool')];
    await wait(client, mixed);
    expect(await written()).toMatchObject([{ type: 'job.waiting', data: { interruptIds: mixed.slice(1) } }]);
  });

  it('name the requests that the statement of the wait opens', async () => {
    await subscribe(['job.waiting']);
    const job = await stage.startClaimed();
    const interrupt = { id: newId(), kind: 'human_input', title: 'Plan?', request: {} } as const;
    const waits = { type: 'job-waiting', body: { interruptIds: [interrupt.id] } } as const;
    const write = writeOf(job, 1, {
      events: [interruptOpened(interrupt), waits],
      move: { to: 'waiting', externalUpdates: 0 },
    });
    await jobs.app
      .get(EventLogRepository)
      .commit([{ ...write, rows: [openInterruptRow({ ...job, input: {} }, interrupt)] }]);
    expect(await written()).toMatchObject([{ type: 'job.waiting', data: { interruptIds: [interrupt.id] } }]);
  });

  it("name the thread by the client's id", async () => {
    await subscribe(['job.completed']);
    await stage.end(await stage.startClaimed({ thread: { ref: 'mine', createTitle: '' } }));
    expect(await written()).toMatchObject([{ data: { threadId: 'mine' } }]);
  });
});
