import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { type NotificationStage, notificationStage } from '../../../../test/harness/notifications.js';
import { JobStopper } from '../cancel/job-stopper.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import type { InterruptKind, NewInterrupt } from '../interrupt.js';
import { insertInterrupt, openInterruptRow } from '../interrupts/new-interrupt.repository.js';
import type { JobOutcome } from '../run/job-handler.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { Worker } from '../run/worker.js';
import type { StartRequest } from '../start/start-request.js';
import { JobUpdater } from '../update/job-updater.js';
import { endNotifications } from './new-notification.part.js';
import { NotificationsRepository } from './notifications.repository.js';

let database: TestDatabase;
let api: TestJobs;
let stage: NotificationStage;
/** Another process, which ends jobs as their input specifies. */
let worker: TestJobs;
let watching = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  api = await openTestJobs(database);
  stage = notificationStage(api);
  worker = await openTestJobs(database);
  worker.handle(({ job }) => {
    // The inputs in this file specify how the job ends.
    const { ends } = job.input as { readonly ends: JobOutcome | null };
    return ends === null ? Promise.reject(new Error('broken')) : Promise.resolve(ends);
  });
});
afterEach(() => {
  watching.abort();
  watching = new AbortController();
});
afterAll(async () => {
  await worker.close();
  await api.close();
  await database.close();
});

const completed: JobOutcome = { status: 'completed', reason: 'stop' };
const typesOf = (notifications: readonly { readonly type: string }[]) => notifications.map(({ type }) => type);

/** Runs it in the other process. */
async function run(changes: Partial<StartRequest>): Promise<string> {
  const jobId = await stage.start(changes);
  return eventually(`job ${jobId} has ended`, async () => {
    const ended = await api.rows('SELECT 1 FROM job WHERE id = $1 AND finished_at IS NOT NULL', [jobId]);
    return ended.length === 1 ? jobId : undefined;
  });
}

describe('the end of a job without viewers', () => {
  beforeAll(() => {
    worker.app.get(Worker).start();
  });
  afterAll(() => worker.app.get(Worker).stop(0));

  it('creates one notification for the requester', async () => {
    const user = { user_id: api.userId, interrupt_id: null };
    expect(await stage.notificationsOf(await run({ input: { ends: completed } }))).toEqual([
      { type: 'job_completed', ...user },
    ]);
    const failed = { status: 'failed', code: 'x', message: 'y' } as const;
    expect(await stage.notificationsOf(await run({ input: { ends: failed } }))).toEqual([
      { type: 'job_failed', ...user },
    ]);
    expect(await stage.notificationsOf(await run({ input: { ends: null } }))).toEqual([
      { type: 'job_failed', ...user },
    ]);
  });

  it('creates no notification for a job without a requester', async () => {
    expect(await stage.notificationsOf(await run({ createdBy: null, input: { ends: completed } }))).toEqual([]);
  });
});

describe('the commit that ends a job', () => {
  it('creates no notification for a cancelled job', async () => {
    const queued = await stage.start();
    await api.app.get(JobStopper).stop(stage.scope, queued);
    expect(await stage.notificationsOf(queued)).toEqual([]);
    const job = await stage.startClaimed();
    expect(endNotifications(job, { status: 'cancelled', reason: 'why' }, newId())).toEqual([]);
  });

  it('creates no notification for a sub-job', async () => {
    const job = await stage.startClaimed();
    expect(endNotifications({ ...job, parentJobId: newId() }, { status: 'completed', reason: '' }, newId())).toEqual(
      [],
    );
  });

  it('creates one notification although two workers commit the end', async () => {
    const job = await stage.startClaimed();
    await api.expire(job.jobId);
    const next = await api.claim(job.jobId, 'another worker');
    expect(await stage.end(job)).toEqual([expect.any(Error)]);
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
    const rows = endNotifications(next, { status: 'completed', reason: 'stop' }, newId());
    // As if the fence had let an earlier write through.
    await api.app.get(EventLogRepository).commit([writeOf(next, 1, { rows })]);
    expect(await stage.end(next, 2)).toEqual([expect.objectContaining({ base: 4 })]);
    await stage.end(next, 2);
    expect(await stage.notificationsOf(job.jobId)).toHaveLength(1);
  });
});

describe('the write that opens a request', () => {
  const asked = (kind: InterruptKind, id = newId()): NewInterrupt => ({ id, kind, title: 'Continue?', request: {} });
  const ask = (job: ClaimedJob, kind: InterruptKind, number = 1) =>
    api.app.get(EventLogRepository).commit([writeOf(job, number, { rows: [openInterruptRow(job, asked(kind))] })]);

  it('creates a notification for a request to a person in the same commit', async () => {
    for (const kind of ['tool_approval', 'human_input', 'unknown_outcome'] as const) {
      const job = await stage.startClaimed();
      await ask(job, kind);
      expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(['input_needed']);
    }
  });

  it('creates a notification for each request, also without the lease', async () => {
    const job = await stage.startClaimed();
    await ask(job, 'human_input', 1);
    await ask(job, 'human_input', 2);
    const id = newId();
    await api.app
      .get(JobUpdater)
      .update(job.workspaceId, job.jobId, (held) => insertInterrupt(held.client, held, asked('unknown_outcome', id)));
    const all = await stage.notificationsOf(job.jobId);
    expect(all.map(({ type }) => type)).toEqual(['input_needed', 'input_needed', 'input_needed']);
    expect(all.at(-1)).toMatchObject({ interrupt_id: id, user_id: api.userId });
  });

  it('creates no notification for a request to a client or a job without a requester', async () => {
    const job = await stage.startClaimed();
    await ask(job, 'client_tool', 1);
    await ask(job, 'wait', 2);
    const orphan = await stage.startClaimed({ createdBy: null });
    await ask(orphan, 'human_input');
    expect([await stage.notificationsOf(job.jobId), await stage.notificationsOf(orphan.jobId)]).toEqual([[], []]);
  });

  it('creates no notification when it refuses the request because the job must not wait for a person', async () => {
    const job = await stage.startClaimed({ input: { humanWait: 'reject' } });
    await ask(job, 'human_input');
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
  });

  it('creates no notification while the job has a viewer', async () => {
    const job = await stage.startClaimed();
    await stage.watch(job.jobId, watching.signal);
    await ask(job, 'tool_approval');
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
  });

  it('creates a notification for a sub-job unless the root job has a viewer', async () => {
    const root = await stage.startClaimed();
    const child = await stage.startClaimed();
    await api.rows(
      'UPDATE job SET depth = 1, parent_job_id = $2, root_job_id = $2, parent_call_id = $3 WHERE id = $1',
      [...[child.jobId, root.jobId, newId()]],
    );
    await ask(child, 'human_input', 1);
    expect(typesOf(await stage.notificationsOf(child.jobId))).toEqual(['input_needed']);
    const [shown] = await api.app.get(NotificationsRepository).listMine(stage.scope, {}, { limit: 1 });
    expect(shown).toMatchObject({ jobId: child.jobId, rootJobId: root.jobId, title: 'Continue?' });
    await stage.watch(root.jobId, watching.signal);
    await ask(child, 'human_input', 2);
    expect(await stage.notificationsOf(child.jobId)).toHaveLength(1);
  });
});
