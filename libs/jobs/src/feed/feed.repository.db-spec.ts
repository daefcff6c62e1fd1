import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import type { NewJobEvent } from '../events/job-event.js';
import { feedPage, feedPageBytes, FeedRepository } from './feed.repository.js';

const started = (i: number): NewJobEvent => ({
  type: 'node-started',
  body: { nodeRunId: `j:${i}`, nodeId: `n${i}`, label: 'N', type: 'transform', path: [] },
});

describe('a page of FeedRepository', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let jobId: string;

  /** 1280 events in packs of 64, after the event of the claim. */
  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    const [job] = await jobs.start(1);
    const claimed = await jobs.claim(job?.jobId ?? '');
    ({ jobId } = claimed);
    const events = Array.from({ length: 1_280 }, (_, i) => started(i));
    await jobs.app.get(EventLogRepository).commit([writeOf(claimed, 1, { events })]);
  });
  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  /** The numbers of the events after `after`, and how many events their rows contain. */
  const page = async (after: number) => {
    const read = jest.spyOn(jobs.platform.postgres, 'readInWorkspace');
    const events = await jobs.app.get(FeedRepository).readAfter(jobs.workspaceId, { jobId, after });
    const rows = (await read.mock.results[0]?.value) as readonly { readonly events: number }[]; // the rows that the spied read returned
    read.mockRestore();
    return { seqs: events.map(({ seq }) => seq), loaded: rows.reduce((sum, row) => sum + row.events, 0) };
  };

  it.each([0, 2, 40, 64, 65, 66, 700])(
    'contains all events after %i and loads at most two packs more',
    async (after) => {
      const { seqs, loaded } = await page(after);
      expect(seqs).toEqual(Array.from({ length: feedPage }, (_, i) => after + i + 1));
      expect(loaded).toBeLessThan(feedPage + 2 * 64);
    },
  );

  it.each([
    ['incompressible', () => randomBytes(15_000).toString('base64')],
    ['compressible', () => 'x'.repeat(20_000)],
  ])('ends at its byte limit for %s text, and the next page starts at the following event', async (_, text) => {
    const [job] = await jobs.start(1);
    const claimed = await jobs.claim(job?.jobId ?? '');
    const deltas = Array.from({ length: 60 }, (__, i): NewJobEvent => {
      return { type: 'text-delta', body: { round: i + 1, offset: i * 20_000, text: text() } };
    });
    await jobs.app.get(EventLogRepository).commit([writeOf(claimed, 1, { events: deltas })]);
    const seqs: number[] = [];
    for (let pages = 0; pages < 10; pages += 1) {
      const cursor = { jobId: claimed.jobId, after: seqs.at(-1) ?? 0 };
      const events = await jobs.app.get(FeedRepository).readAfter(jobs.workspaceId, cursor);
      if (events.length === 0) break;
      seqs.push(...events.map(({ seq }) => seq));
      expect(JSON.stringify(events).length).toBeLessThan(feedPageBytes + 40_000);
    }
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (__, i) => i + 1));
    expect(seqs.length).toBeGreaterThanOrEqual(60);
  });

  it('contains the remaining events if they are fewer than a page', async () => {
    const [{ last }] = (await jobs.rows('SELECT last_seq AS last FROM job WHERE id = $1', [jobId])) as [
      { last: number },
    ]; // one job
    const { seqs } = await page(last - 100);
    expect(seqs).toEqual(Array.from({ length: 100 }, (_, i) => last - 99 + i));
    expect((await page(last)).seqs).toEqual([]);
  });
});
