import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { Metrics, newId, type PrismaTransaction } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, type JobState, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { JobTelemetry } from '../job.telemetry.js';
import { type ClaimedJob, LeaseRepository } from '../run/lease.repository.js';
import { CancelRepository } from './cancel.repository.js';
import { JobStopper } from './job-stopper.js';

describe('CancelRepository', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let log: EventLogRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, { DATABASE_POOL_SIZE: '20' });
    log = jobs.app.get(EventLogRepository);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const order = { by: 'system', reason: 'why' };
  const cancel = (jobId: string, workspaceId = jobs.workspaceId) => {
    const cancels = jobs.app.get(CancelRepository);
    return cancels.inWorkspace(workspaceId, (client) => cancels.cancel(client, { ...order, workspaceId, jobId }));
  };
  const state = async (jobId: string) => {
    const [row] = await jobs.rows<JobState>('SELECT * FROM job WHERE id = $1', [jobId]);
    if (row === undefined) throw new Error('no such job');
    return row;
  };
  const startOne = async () => (await jobs.start(1))[0]?.jobId ?? '';

  it('ends a queued job at once and fences the worker of its last epoch', async () => {
    const jobId = await startOne();
    const job = await jobs.claim(jobId);
    await log.commit([writeOf(job, 1, { move: { to: 'queued', kind: 'chat' } })]);
    expect(await cancel(jobId)).toMatchObject({ state: 'ended', status: 'cancelled' });
    expect((await state(jobId)).lease_epoch).toBe(2);
    expect((await log.commit([writeOf(job, 2)]))[0]).toBeInstanceOf(Error);
    await expect(jobs.claim(jobId)).rejects.toThrow('cannot be claimed');
  });

  it('lets JobStopper count and log a job that ends without a worker once', async () => {
    const jobId = await startOne();
    const { workspaceId } = jobs;
    await jobs.rows('UPDATE job SET rounds = 7 WHERE id = $1', [jobId]);
    const logged = jest.spyOn(jobs.app.get(JobTelemetry).logger, 'info');
    const stopper = jobs.app.get(JobStopper);
    await stopper.cancelTree({ workspaceId, jobId });
    await stopper.cancelTree({ workspaceId, jobId });
    const details = { workspace_id: workspaceId, job_id: jobId, kind: 'chat', status: 'cancelled', rounds: 7 };
    expect(logged.mock.calls).toEqual([[details, 'background_job_finished']]);
    logged.mockRestore();
    const { registry } = jobs.app.get(Metrics);
    const finished = await registry.getSingleMetricAsString('nightshift_jobs_finished_total');
    expect(finished).toMatch(/\{kind="chat",status="cancelled"\} 1$/m);
    expect(await registry.getSingleMetricAsString('background_job_rounds')).toMatch(/_sum 7$/m);
  });

  it('changes no job of another workspace, even as the role of the workers', async () => {
    const jobId = await startOne();
    const cancels = jobs.app.get(CancelRepository);
    const foreign = { workspaceId: newId(), jobId };
    const asWorker = <T>(work: (tx: PrismaTransaction) => Promise<T>) => database.prisma.asWorker(work);
    expect(await asWorker((tx) => cancels.cancel(tx, { ...order, ...foreign }))).toBeNull();
    expect(await asWorker((tx) => cancels.endIfRequested(tx, foreign))).toBeNull();
    expect(await state(jobId)).toMatchObject({ status: 'queued' });
  });

  it('settles the calls and requests of a waiting job in the same transaction and erases its key', async () => {
    const job = await jobs.claim(await startOne());
    await jobs.rows(
      `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key)
       VALUES ($1, $2, $3, 1, 1, 'c', 't', '{}', 'pure', 'awaiting_client', 'k')`,
      [job.workspaceId, newId(), job.jobId],
    );
    await jobs.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request) VALUES ($1, $2, $3, 'client_tool', 't', '{}')`,
      [job.workspaceId, newId(), job.jobId],
    );
    await jobs.rows(`UPDATE job SET key_cipher = '\\x01' WHERE id = $1`, [job.jobId]);
    await log.commit([writeOf(job, 1, { move: { to: 'waiting', externalUpdates: 0 } })]);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'ended' });
    const [row] = await jobs.rows(
      `SELECT j.status, j.key_cipher, c.status AS call, i.status AS asked FROM job j
         JOIN tool_call c ON c.job_id = j.id JOIN interrupt i ON i.job_id = j.id WHERE j.id = $1`,
      [job.jobId],
    );
    expect(row).toEqual({ status: 'cancelled', key_cipher: null, call: 'cancelled', asked: 'cancelled' });
  });

  const ask = async (job: ClaimedJob) => {
    const id = newId();
    const remind = `clock_timestamp() + interval '1 day'`;
    await jobs.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request, remind_at)
       VALUES ($1, $2, $3, 'human_input', 't', '{}', ${remind})`,
      [job.workspaceId, id, job.jobId],
    );
    return id;
  };
  const eventsOf = (jobId: string) =>
    jobs.rows<{ seq: number; type: string; body: Record<string, unknown> }>(
      'SELECT seq, type, body FROM job_event WHERE job_id = $1 ORDER BY seq',
      [jobId],
    );
  const settled = (jobId: string) =>
    jobs.rows(
      `SELECT id, status, outcome, remind_at, (extract(epoch FROM decided_at) * 1000)::float8 AS at
         FROM interrupt WHERE job_id = $1 ORDER BY id`,
      [jobId],
    );

  it('appends the cancelled requests of a waiting job before the event of its end', async () => {
    const job = await jobs.claim(await startOne());
    const ids = [await ask(job), await ask(job)];
    await log.commit([writeOf(job, 1, { move: { to: 'waiting', externalUpdates: 0 } })]);
    const { last_seq: before } = await state(job.jobId);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'ended', seq: before + 3 });
    const outcome = 'cancelled';
    const events = await eventsOf(job.jobId);
    const decidedAt: unknown = expect.any(Number);
    expect(events.slice(-3)).toMatchObject([
      { seq: before + 1, type: 'interrupt-resolved', body: { interruptId: ids[0], outcome, decidedAt } },
      { seq: before + 2, type: 'interrupt-resolved', body: { interruptId: ids[1], outcome, decidedAt } },
      { seq: before + 3, type: 'job-finished' },
    ]);
    const at = events.slice(-3, -1).map(({ body }) => body['decidedAt']);
    expect(await settled(job.jobId)).toEqual(
      ids.map((id, i) => ({ id, status: 'cancelled', outcome: { outcome }, remind_at: null, at: at[i] })),
    );
  });

  it('appends how each call of a waiting job ended before its requests', async () => {
    const job = await jobs.claim(await startOne());
    const open = ['awaiting_approval', 'pending', 'running', 'completed'];
    for (const [i, status] of open.entries())
      await jobs.rows(
        `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key,
           result) VALUES ($1, $2, $3, 1, $4, $5, 't', '{"a":1}', 'once', $6, $5, CASE WHEN $6 = 'completed' THEN 'r' END)`,
        [job.workspaceId, newId(), job.jobId, i + 1, `call_${i + 1}`, status],
      );
    const interruptId = await ask(job);
    await log.commit([writeOf(job, 1, { move: { to: 'waiting', externalUpdates: 0 } })]);
    const { last_seq: before } = await state(job.jobId);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'ended', seq: before + 5 });
    const updated = (ordinal: number, internalStatus: string, call: object) => ({
      seq: before + ordinal,
      type: 'tool-call-updated',
      body: { round: 1, internalStatus, call: { id: `call_${ordinal}`, name: 't', args: '{"a":1}', ...call } },
    });
    const stopped = { status: 'skipped', error: 'Tool execution cancelled' };
    const error = 'The tool was started but its outcome is unknown. It was not repeated.';
    expect((await eventsOf(job.jobId)).slice(-5)).toEqual([
      updated(1, 'cancelled', stopped),
      updated(2, 'cancelled', stopped),
      updated(3, 'interrupted', { status: 'error', error }),
      expect.objectContaining({
        type: 'interrupt-resolved',
        body: expect.objectContaining({ interruptId }) as unknown,
      }),
      expect.objectContaining({ type: 'job-finished', seq: before + 5 }),
    ]);
  });

  it('abandon closes open requests only for the holder of the lease', async () => {
    const job = await jobs.claim(await startOne());
    const interruptId = await ask(job);
    const cancels = jobs.app.get(CancelRepository);
    await cancels.abandon({ ...job, epoch: job.epoch - 1 });
    expect(await settled(job.jobId)).toMatchObject([{ status: 'open' }]);
    await cancels.abandon(job);
    await cancels.abandon(job);
    expect(await settled(job.jobId)).toMatchObject([{ status: 'cancelled', outcome: { outcome: 'cancelled' } }]);
    await log.commit([endOf(job, 1)]);
    const events = await eventsOf(job.jobId);
    expect(events.slice(-2)).toMatchObject([
      { type: 'interrupt-resolved', body: { interruptId, outcome: 'cancelled' } },
      { type: 'job-finished' },
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, i) => i + 1));
  });

  it('abandon stores the shown text once when it is called twice', async () => {
    const job = await jobs.claim(await startOne());
    const delta = { type: 'text-delta', body: { round: 1, offset: 0, text: 'So far' } } as const;
    await log.commit([writeOf(job, 1, { events: [delta] })]);
    const cancels = jobs.app.get(CancelRepository);
    expect(await cancels.abandon(job)).toBe(6);
    expect(await cancels.abandon(job)).toBe(6);
    expect(await jobs.rows('SELECT text, partial FROM round WHERE job_id = $1', [job.jobId])).toEqual([
      { text: 'So far', partial: true },
    ]);
    expect(await state(job.jobId)).toMatchObject({ content_length: 6 });
  });

  it('appends one event for a running job when ten cancels are requested concurrently', async () => {
    const job = await jobs.claim(await startOne());
    const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(job.jobId)));
    expect(answers.map((answer) => answer?.state)).toEqual(Array.from({ length: 10 }, () => 'requested'));
    const events = await jobs.rows(`SELECT 1 FROM job_event WHERE job_id = $1 AND type = 'job-cancel-requested'`, [
      job.jobId,
    ]);
    expect(events).toHaveLength(1);
  });

  it('finds no job of another workspace', async () => {
    const jobId = await startOne();
    expect(await cancel(jobId, newId())).toBeNull();
    expect((await state(jobId)).status).toBe('queued');
  });

  it('keeps the shown text of a job that was released in mid-round', async () => {
    const job = await jobs.claim(await startOne());
    const piece = (offset: number, text: string) => ({ type: 'text-delta', body: { round: 1, offset, text } }) as const;
    const shown = [piece(0, 'Once upon '), piece(10, 'a time')];
    await log.commit([writeOf(job, 1, { events: shown, move: { to: 'queued', kind: 'chat' } })]);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'ended' });
    expect(await jobs.rows('SELECT number, text, partial FROM round WHERE job_id = $1', [job.jobId])).toEqual([
      { number: 1, text: 'Once upon a time', partial: true },
    ]);
    const [end] = await jobs.rows(
      `SELECT j.content_length AS length, e.body->'content_length' AS logged FROM job j JOIN job_event e ON e.job_id = j.id
        WHERE j.id = $1 AND e.type = 'job-finished'`,
      [job.jobId],
    );
    expect(end).toEqual({ length: 16, logged: 16 });
  });

  it('endIfRequested ends a job once its worker has released it', async () => {
    const job = await jobs.claim(await startOne());
    await cancel(job.jobId);
    const cancels = jobs.app.get(CancelRepository);
    const endIfRequested = () => cancels.inWorkspace(jobs.workspaceId, (client) => cancels.endIfRequested(client, job));
    expect(await endIfRequested()).toBeNull();
    await log.commit([writeOf(job, 1, { move: { to: 'queued', kind: 'chat' } })]);
    expect(await endIfRequested()).toMatchObject({ state: 'ended' });
    expect(await state(job.jobId)).toMatchObject({ status: 'cancelled', reason: 'why' });
    expect(await endIfRequested()).toBeNull();
  });

  it('changes nothing of an ended job', async () => {
    const job = await jobs.claim(await startOne());
    await log.commit([endOf(job, 1)]);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'terminal', status: 'completed' });
  });

  it('leaves exactly one end when a cancel, an end, a release and a claim race, in 300 runs', async () => {
    const started = await jobs.start(300);
    const cancelled: string[] = [];
    const race = async (jobId: string) => {
      const job = await jobs.claim(jobId);
      const release = writeOf(job, 1, { move: { to: 'queued', kind: 'chat' } });
      const contenders = [
        () => log.commit([endOf(job, 1)]),
        () => log.commit([release]),
        async () => {
          if ((await cancel(jobId))?.state === 'ended') cancelled.push(jobId);
        },
        () => jobs.app.get(LeaseRepository).claim([{ workspaceId: jobs.workspaceId, jobId }], 'another worker'),
      ];
      await Promise.all(contenders.toSorted(() => Math.random() - 0.5).map((go) => go()));
      await settle(jobId);
    };
    /** Ends the job as its worker would, if the race left it running or queued. */
    const settle = async (jobId: string) => {
      const { status, lease_epoch: epoch } = await state(jobId);
      if (status === 'running') {
        await jobs.expire(jobId);
        const job = await jobs.claim(jobId, 'the last worker');
        expect(job.epoch).toBe(epoch + 1);
        await log.commit([endOf(job, 1)]);
      } else if (status === 'queued') await cancel(jobId);
    };
    for (let i = 0; i < started.length; i += 10)
      await Promise.all(started.slice(i, i + 10).map(({ jobId }) => race(jobId)));
    const ids = started.map(({ jobId }) => jobId);
    const unfinished = await jobs.rows(`SELECT id FROM job WHERE id = ANY($1) AND finished_at IS NULL`, [ids]);
    const wrong = await jobs.rows(
      `SELECT e.job_id FROM job_event e WHERE e.job_id = ANY($1) GROUP BY 1
       HAVING count(*) FILTER (WHERE type = 'job-finished') <> 1 OR max(seq) <> count(*)
           OR max(seq) FILTER (WHERE type = 'job-finished') <> max(seq)`,
      [ids],
    );
    expect([unfinished, wrong]).toEqual([[], []]);
    // A cancel that returned `ended` must be true of the row.
    const notCancelled = await jobs.rows(`SELECT 1 FROM job WHERE id = ANY($1) AND status <> 'cancelled'`, [cancelled]);
    expect(notCancelled).toEqual([]);
  });
});
