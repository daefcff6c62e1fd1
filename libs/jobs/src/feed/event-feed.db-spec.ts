import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import type { NewJobEvent } from '../events/job-event.js';
import { EventFeed } from './event-feed.js';

const warning = (text: string): NewJobEvent => ({ type: 'warning', body: { code: 'NOISE', text } });
const incompressibleText = (randomByteCount: number) => randomBytes(randomByteCount).toString('base64');

describe('EventFeed', () => {
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

  const firstAfterStart = async (text: string): Promise<unknown> => {
    const [job] = await jobs.start(1);
    const claimed = await jobs.claim(job?.jobId ?? '');
    const events = Array.from({ length: 40 }, () => warning(text));
    await jobs.app.get(EventLogRepository).commit([writeOf(claimed, 1, { events })]);
    const watching = new AbortController();
    const { workspaceId, jobId } = claimed;
    const feed = jobs.app.get(EventFeed).follow({ workspaceId, jobId, after: 1, signal: watching.signal });
    const { value } = await feed.next();
    watching.abort();
    await feed.return();
    return value;
  };

  it('sends the missed events to a viewer that is a little behind', async () => {
    expect(await firstAfterStart(incompressibleText(10))).toMatchObject({ type: 'events' });
  });

  it.each([
    ['incompressible text', incompressibleText(40_000)],
    ['compressible text', 'x'.repeat(50_000)],
  ])('sends a snapshot to a viewer that is far behind in %s', async (_name, text) => {
    expect(await firstAfterStart(text)).toMatchObject({ type: 'snapshot', reset: true });
  });
});
