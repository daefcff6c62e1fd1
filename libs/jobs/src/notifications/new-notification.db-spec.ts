import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { type NotificationStage, notificationStage } from '../../../../test/harness/notifications.js';
import { JobAmender } from '../amend/job-amender.js';
import { JobStopper } from '../cancel/job-stopper.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import type { InterruptKind, NewInterrupt } from '../interrupt.js';
import { insertInterrupt, openInterruptRow } from '../interrupts/new-interrupt.repository.js';
import type { JobOutcome } from '../run/job-handler.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { Worker } from '../run/worker.js';
import type { StartRequest } from '../start/start-request.js';
import { endNotifications } from './new-notification.repository.js';
import { NotificationsRepository } from './notifications.repository.js';

let database: TestDatabase;
let door: TestJobs;
let stage: NotificationStage;
/** Another process, which runs jobs as their input says. */
let worker: TestJobs;
let watching = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  door = await openTestJobs(database);
  stage = notificationStage(door);
  worker = await openTestJobs(database);
  worker.handle(({ job }) => {
    // The inputs of this file say how the job ends.
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
  await door.close();
  await database.close();
});

const completed: JobOutcome = { status: 'completed', reason: 'stop' };
const typesOf = (told: readonly { readonly type: string }[]) => told.map(({ type }) => type);

/** Runs it in the other process. */
async function run(changes: Partial<StartRequest>): Promise<string> {
  const jobId = await stage.start(changes);
  return eventually(`job ${jobId} has ended`, async () => {
    const ended = await door.rows('SELECT 1 FROM job WHERE id = $1 AND finished_at IS NOT NULL', [jobId]);
    return ended.length === 1 ? jobId : undefined;
  });
}

describe('the end of a job that nobody watches', () => {
  beforeAll(() => {
    worker.app.get(Worker).start();
  });
  afterAll(() => worker.app.get(Worker).stop(0));

  it('is told its starter, once, as what it is', async () => {
    const user = { user_id: door.userId, interrupt_id: null };
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

  it('is told nobody where nobody started it', async () => {
    expect(await stage.notificationsOf(await run({ createdBy: null, input: { ends: completed } }))).toEqual([]);
  });
});

describe('an end', () => {
  it('is told nobody where it was cancelled, whoever did it', async () => {
    const queued = await stage.start();
    await door.app.get(JobStopper).stop(stage.scope, queued);
    expect(await stage.notificationsOf(queued)).toEqual([]);
    const job = await stage.startClaimed();
    expect(endNotifications(job, { status: 'cancelled', reason: 'why' }, newId())).toEqual([]);
  });

  it('is told nobody where another job waits for it', async () => {
    const job = await stage.startClaimed();
    expect(endNotifications({ ...job, parentJobId: newId() }, { status: 'completed', reason: '' }, newId())).toEqual(
      [],
    );
  });

  it('is told once, whoever tries again', async () => {
    const job = await stage.startClaimed();
    await door.expire(job.jobId);
    const next = await door.claim(job.jobId, 'another worker');
    expect(await stage.end(job)).toEqual([expect.any(Error)]);
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
    const rows = endNotifications(next, { status: 'completed', reason: 'stop' }, newId());
    // As if the fence had let one through before.
    await door.app.get(EventLogRepository).commit([writeOf(next, 1, { rows })]);
    expect(await stage.end(next, 2)).toEqual([expect.objectContaining({ base: 4 })]);
    await stage.end(next, 2);
    expect(await stage.notificationsOf(job.jobId)).toHaveLength(1);
  });
});

describe('a request', () => {
  const asked = (kind: InterruptKind, id = newId()): NewInterrupt => ({ id, kind, title: 'Go on?', request: {} });
  const ask = (job: ClaimedJob, kind: InterruptKind, number = 1) =>
    door.app.get(EventLogRepository).commit([writeOf(job, number, { rows: [openInterruptRow(job, asked(kind))] })]);

  it('to a person is told the starter with the write that opens it', async () => {
    for (const kind of ['tool_approval', 'human_input', 'unknown_outcome'] as const) {
      const job = await stage.startClaimed();
      await ask(job, kind);
      expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(['input_needed']);
    }
  });

  it('is told each for itself, and from outside the lease as well', async () => {
    const job = await stage.startClaimed();
    await ask(job, 'human_input', 1);
    await ask(job, 'human_input', 2);
    const id = newId();
    await door.app
      .get(JobAmender)
      .amend(job.workspaceId, job.jobId, (held) => insertInterrupt(held.client, held, asked('unknown_outcome', id)));
    const all = await stage.notificationsOf(job.jobId);
    expect(all.map(({ type }) => type)).toEqual(['input_needed', 'input_needed', 'input_needed']);
    expect(all.at(-1)).toMatchObject({ interrupt_id: id, user_id: door.userId });
  });

  it('to a client, or to nobody, is not told', async () => {
    const job = await stage.startClaimed();
    await ask(job, 'client_tool', 1);
    await ask(job, 'wait', 2);
    const orphan = await stage.startClaimed({ createdBy: null });
    await ask(orphan, 'human_input');
    expect([await stage.notificationsOf(job.jobId), await stage.notificationsOf(orphan.jobId)]).toEqual([[], []]);
  });

  it('that is refused because no person is to be waited for is not told', async () => {
    const job = await stage.startClaimed({ input: { humanWait: 'reject' } });
    await ask(job, 'human_input');
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
  });

  it('is not told while somebody watches', async () => {
    const job = await stage.startClaimed();
    await stage.watch(job.jobId, watching.signal);
    await ask(job, 'tool_approval');
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
  });

  it('of a sub-job is told the starter, unless somebody watches the job it belongs to', async () => {
    const root = await stage.startClaimed();
    const below = await stage.startClaimed();
    await door.rows(
      'UPDATE job SET depth = 1, parent_job_id = $2, root_job_id = $2, parent_call_id = $3 WHERE id = $1',
      [...[below.jobId, root.jobId, newId()]],
    );
    await ask(below, 'human_input', 1);
    expect(typesOf(await stage.notificationsOf(below.jobId))).toEqual(['input_needed']);
    const [shown] = await door.app.get(NotificationsRepository).listMine(stage.scope, {}, { limit: 1 });
    expect(shown).toMatchObject({ jobId: below.jobId, rootJobId: root.jobId, title: 'Go on?' });
    await stage.watch(root.jobId, watching.signal);
    await ask(below, 'human_input', 2);
    expect(await stage.notificationsOf(below.jobId)).toHaveLength(1);
  });
});
