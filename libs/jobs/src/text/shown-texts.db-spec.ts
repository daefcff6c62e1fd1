import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { systemClock } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { EventLog } from '../events/event-log.js';
import { roundRow } from '../rounds/round.part.js';
import { JobRun } from '../run/job-run.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { SnapshotRepository } from '../snapshot/snapshot.repository.js';
import { JobStarter } from '../start/job-starter.js';
import { ShownTextsRepository } from './shown-texts.repository.js';

describe('the text of a workflow with concurrent rounds', () => {
  let database: TestDatabase;
  let jobs: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const start = async () => {
    const request = jobs.request({ kind: 'workflow' });
    await jobs.app.get(JobStarter).start(request);
    return request.jobId;
  };
  const runOf = (job: ClaimedJob) =>
    new JobRun(job, {
      log: jobs.app.get(EventLog),
      clock: systemClock,
      flush: { intervalMs: 100, chunks: 10, bytes: 1_024 },
      renewLease: () => Promise.resolve(undefined),
      isValid: () => true,
    });
  const contentOf = async (jobId: string) =>
    (await jobs.app.get(SnapshotRepository).read(jobs.workspaceId, jobId))?.content;
  const finish = (run: JobRun, round: number) => {
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
    run.append({
      events: [{ type: 'round-finished', body: { round, finishReason: 'stop', usage, toolCallIds: [] } }],
      counts: { contentLength: run.closeRound(round) },
    });
  };
  const [first, second] = [
    { nodeId: 'a', isContent: true },
    { nodeId: 'b', isContent: true },
  ];

  it('equals the text of its log and contains nothing of inner nodes', async () => {
    const job = await jobs.claim(await start());
    const run = runOf(job);
    void run.text(1, 'one ', first);
    void run.text(2, 'aside', { nodeId: 'c', isContent: false });
    void run.text(3, 'two ', second);
    await run.commit();
    expect(await contentOf(job.jobId)).toBe('one two ');
    run.restartRound(1, 'broken', first);
    void run.text(1, 'three', first);
    await run.commit();
    expect(await contentOf(job.jobId)).toBe('two three');
    run.dispose();
  });

  it('keeps finished rounds and withdraws the others when another worker resumes the job', async () => {
    const job = await jobs.claim(await start());
    const run = runOf(job);
    void run.text(1, 'lost ', first);
    void run.text(2, 'kept ', second);
    void run.text(1, 'too', first);
    void run.text(3, 'aside', { nodeId: 'c', isContent: false });
    finish(run, 2);
    await run.commit();
    run.dispose();
    await jobs.expire(job.jobId);
    const next = runOf(await jobs.claim(job.jobId));
    next.resumeText(await jobs.app.get(ShownTextsRepository).read(job));
    void next.text(4, 'new', first);
    await next.commit();
    next.dispose();
    expect(await contentOf(job.jobId)).toBe('kept new');
    expect(next.contentLength).toBe(8);
    const withdrawn = await jobs.rows<{ round: number; node: string }>(
      `SELECT (body->>'round')::int AS round, body->>'nodeId' AS node FROM job_event
        WHERE job_id = $1 AND type = 'round-restarted' ORDER BY seq`,
      [job.jobId],
    );
    expect(withdrawn).toEqual([
      { round: 1, node: 'a' },
      { round: 3, node: 'c' },
    ]);
  });

  it('resumes after a wait from the events since that wait only', async () => {
    const place = { jobId: await start(), workspaceId: jobs.workspaceId };
    const { jobId } = place;
    const texts = jobs.app.get(ShownTextsRepository);
    const before: number[] = [];
    for (const [round, word] of ['one ', 'two ', 'three '].entries()) {
      const run = runOf(await jobs.claim(jobId));
      const shown = await texts.sinceLastWait({ ...place, contentLength: run.contentLength });
      expect([shown.text, shown.reasoning]).toEqual([[], []]);
      before.push(shown.before?.text ?? -1, shown.before?.reasoning ?? -1);
      run.resumeText(shown);
      void run.reasoning(round, `${word}?`, first);
      void run.text(round, word, first);
      finish(run, round);
      const thought = {
        number: round,
        model: 'm',
        text: word,
        reasoning: `${word}?`,
        finishReason: 'stop',
        partial: false,
      };
      const used = { promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt: 0 };
      run.append({ rows: [roundRow(run.job, { ...thought, ...used })] });
      expect(await run.commitWaiting({ events: [{ type: 'job-waiting', body: { interruptIds: [] } }] })).toBe(true);
      run.dispose();
      await jobs.rows(`UPDATE job SET status = 'queued' WHERE id = $1`, [jobId]);
    }
    // Each resume read no earlier text, and its length still counts.
    expect(before).toEqual([0, 0, 4, 5, 8, 10]);
    const lost = runOf(await jobs.claim(jobId));
    lost.resumeText(await texts.sinceLastWait({ ...place, contentLength: lost.contentLength }));
    void lost.text(7, 'lost', second);
    await lost.commit();
    lost.dispose();
    await jobs.expire(jobId);
    const next = runOf(await jobs.claim(jobId));
    const tail = await texts.sinceLastWait({ ...place, contentLength: next.contentLength });
    expect([tail.text.map(({ text }) => text), tail.before]).toEqual([['lost'], { text: 14, reasoning: 17 }]);
    next.resumeText(tail);
    void next.text(8, 'four', first);
    await next.commit();
    next.dispose();
    expect(await contentOf(jobId)).toBe('one two three four');
  });
});
