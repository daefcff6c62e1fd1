import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { DeliveryWorker } from '../../libs/triggers/src/outbound/delivery-worker.js';
import { WebhookEndpoints } from '../../libs/triggers/src/outbound/webhook-endpoints.service.js';
import { claimOne } from '../harness/claim-one.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';
import { notificationStage } from '../harness/notifications.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

let database: TestDatabase;
let identities: TestIdentities;
let jobs: TestJobs;
let webhooks: TestWebhooks;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  jobs = await openTestJobs(database);
  webhooks = await openTestWebhooks(database);
});
afterAll(async () => {
  await webhooks.reset();
  await webhooks.close();
  await jobs.close();
  identities.auth.close();
  await database.close();
});

const setUp = async () => {
  const { admin, owner } = await identities.workspaceOf(newId());
  const { workspaceId, userId } = owner;
  const claim = async (jobId: string) => {
    const job = await claimOne(jobs.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
    if (job === undefined) throw new Error('the job cannot be claimed');
    return job;
  };
  const request: TestJobs['request'] = (changes) => jobs.request({ workspaceId, ...changes });
  const { endpoint } = await webhooks.app.get(WebhookEndpoints).save(admin, null, {
    ...{ url: webhooks.receiver.url(), description: '', events: ['node.finished', 'job.completed'], enabled: true },
    ...{ signature: 'standard', headers: {}, onlyUnwatched: false, includeContent: false },
  });
  return { admin, endpointId: endpoint.id, stage: notificationStage({ ...jobs, workspaceId, userId, request, claim }) };
};

describe('webhooks of jobs', () => {
  it('reach an endpoint one after the other for each job, by their numbers, and so when they are sent again', async () => {
    const { admin, endpointId, stage } = await setUp();
    const claimed = [await stage.startClaimed(), await stage.startClaimed(), await stage.startClaimed()];
    const node = { label: 'n', type: 'http', path: [] };
    const finished = (nodeId: string) =>
      ({
        type: 'node-finished',
        body: { ...node, nodeId, nodeRunId: newId(), status: 'completed', output: 'text' },
      }) as const;
    await jobs.app
      .get(EventLogRepository)
      .commit(claimed.map((job) => writeOf(job, 1, { events: ['a', 'b', 'c'].map(finished) })));
    for (const job of claimed) await stage.end(job, 2);
    const { receiver } = webhooks;
    receiver.answer = (response) => response.writeHead(receiver.received.length % 2 === 0 ? 400 : 200).end();
    const arrived = () =>
      receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { data: Record<string, unknown> }).data);
    const numbersOf = (jobId: string) =>
      arrived().flatMap((data) => (data['jobId'] === jobId ? [Number(data['seq'])] : []));
    const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
    await webhooks.app.get(DeliveryWorker).start();
    await eventually('all have arrived', () => (receiver.received.length === 12 ? true : undefined));
    for (const { jobId } of claimed) expect(numbersOf(jobId)).toEqual(ascending(numbersOf(jobId)));
    const isOver = async () =>
      (
        await webhooks.rows(`SELECT 1 FROM webhook_delivery WHERE endpoint_id = $1 AND status = 'pending'`, [
          endpointId,
        ])
      ).length === 0
        ? true
        : undefined;
    await eventually('all have ended', isOver);
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(200).end();
    expect(await webhooks.app.get(WebhookEndpoints).redeliverDead(admin, { endpointId })).toBe(6);
    await eventually('all have ended', isOver);
    expect(receiver.received).toHaveLength(6);
    for (const { jobId } of claimed) expect(numbersOf(jobId)).toEqual(ascending(numbersOf(jobId)));
  });
});
