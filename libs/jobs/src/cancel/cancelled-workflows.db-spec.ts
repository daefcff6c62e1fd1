import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { layOutNodeRuns } from '../../../../test/harness/node-runs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { SnapshotRepository } from '../snapshot/snapshot.repository.js';
import { JobStarter } from '../start/job-starter.js';
import { CancelRepository } from './cancel.repository.js';

describe('the cancellation of a workflow', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let log: EventLogRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    log = jobs.app.get(EventLogRepository);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const cancel = (jobId: string) => {
    const cancels = jobs.app.get(CancelRepository);
    const order = { workspaceId: jobs.workspaceId, jobId, by: 'system', reason: 'why' };
    return cancels.inWorkspace(jobs.workspaceId, (client) => cancels.cancel(client, order));
  };
  const eventsOf = (jobId: string) =>
    jobs.rows<{ seq: number; type: string; body: Record<string, unknown> }>(
      'SELECT seq, type, body FROM job_event WHERE job_id = $1 ORDER BY seq',
      [jobId],
    );
  const startWorkflow = async () => {
    const request = jobs.request({ kind: 'workflow' });
    await jobs.app.get(JobStarter).start(request);
    return jobs.claim(request.jobId);
  };

  it('stores the shown content of a released job once', async () => {
    const job = await startWorkflow();
    const began = (round: number) => ({ type: 'round-started', body: { round, model: 'm' } }) as const;
    const delta = (round: number, text: string, rest: { offset?: number; nodeId?: string }) =>
      ({ type: 'text-delta', body: { round, text, ...rest } }) as const;
    const events = [
      ...[began(1), began(2), began(3)],
      delta(1, 'ab', { offset: 0, nodeId: 'n' }),
      delta(2, 'cd', { offset: 2, nodeId: 'm' }),
      delta(3, 'aside', { nodeId: 'o' }),
      { type: 'round-restarted', body: { round: 1, reason: 'x', contentLength: 0, reasoningLength: 0, nodeId: 'n' } },
      delta(2, 'cd', { offset: 0 }),
      delta(1, 'new', { offset: 2, nodeId: 'n' }),
    ] as const;
    await log.commit([writeOf(job, 1, { events, move: { to: 'queued', kind: 'chat' } })]);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'ended' });
    const rounds = `SELECT number, node_run, text, partial FROM round WHERE job_id = $1`;
    expect(await jobs.rows(rounds, [job.jobId])).toEqual([{ number: 4, node_run: null, text: 'cdnew', partial: true }]);
    const lengths = `SELECT j.content_length AS length, e.body->'content_length' AS logged FROM job j
       JOIN job_event e ON e.job_id = j.id AND e.type = 'job-finished' WHERE j.id = $1`;
    expect(await jobs.rows(lengths, [job.jobId])).toEqual([{ length: 5, logged: 5 }]);
    const content = async () => (await jobs.app.get(SnapshotRepository).read(job.workspaceId, job.jobId))?.content;
    expect(await content()).toBe('cdnew');
    await jobs.rows(`DELETE FROM job_event WHERE job_id = $1 AND type = 'text-delta'`, [job.jobId]);
    await jobs.rows('UPDATE job SET deltas_trimmed = true WHERE id = $1', [job.jobId]);
    expect(await content()).toBe('cdnew');
  });

  const runs = [
    { nodeId: 'done', status: 'completed', output: 'x', tokens: 5 },
    { nodeId: 'loop', type: 'whileLoop', status: 'active' },
    { nodeId: 'inner', path: ['loop'], iteration: [2], status: 'waiting' },
  ] as const;
  const layOut = async (job: ClaimedJob) => {
    await layOutNodeRuns(database, { ...job, status: 'running' }, runs);
    await jobs.rows(
      `INSERT INTO round (workspace_id, job_id, number, model, text, finish_reason, prompt_tokens, completion_tokens, epoch,
         started_at, node_run) VALUES ($1, $2, 1, 'm', 'aside', 'stop', 3, 4, 1, now(), 3)`,
      [job.workspaceId, job.jobId],
    );
  };
  const settledRuns = async (jobId: string) => {
    const stood = await jobs.rows(
      `SELECT status, handles, finished_at IS NOT NULL AS ended, prompt_tokens + completion_tokens AS tokens
         FROM node_run WHERE job_id = $1 ORDER BY ordinal`,
      [jobId],
    );
    const cancelled = { status: 'cancelled', handles: [], ended: true };
    expect(stood).toEqual([
      { status: 'completed', handles: ['output'], ended: true, tokens: 5 },
      { ...cancelled, tokens: 0 },
      { ...cancelled, tokens: 7 },
    ]);
    const place = { label: 'inner', type: 'agent', path: ['loop'], iteration: 2 };
    const end = { status: 'cancelled', output: '' };
    const around = { nodeRunId: `${jobId}:2`, nodeId: 'loop', label: 'loop', type: 'whileLoop', path: [] };
    const events = await eventsOf(jobId);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, i) => i + 1));
    expect(events.slice(-3)).toMatchObject([
      { type: 'node-finished', body: { ...place, ...end, nodeRunId: `${jobId}:3`, nodeId: 'inner', tokenCount: 7 } },
      { type: 'node-finished', body: { ...around, ...end } },
      { type: 'job-finished' },
    ]);
  };

  it('settles its node runs, inner ones before the loop around them', async () => {
    const job = await startWorkflow();
    await layOut(job);
    await log.commit([writeOf(job, 1, { move: { to: 'queued', kind: 'chat' } })]);
    expect(await cancel(job.jobId)).toMatchObject({ state: 'ended' });
    await settledRuns(job.jobId);
  });

  it('settles its node runs when the job is abandoned', async () => {
    const job = await startWorkflow();
    await layOut(job);
    await jobs.app.get(CancelRepository).abandon(job);
    await log.commit([endOf(job, 1)]);
    await settledRuns(job.jobId);
  });
});
