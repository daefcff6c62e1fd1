import { setImmediate } from 'node:timers/promises';

import { expect, it } from '@jest/globals';

import { Config, createLogger, ManualClock } from '#platform';

import type { JobStopper } from '../cancel/job-stopper.js';
import type { JobRef } from '../job.js';
import type { ForegroundJobsRepository } from './foreground-jobs.repository.js';
import { ForegroundWatch } from './foreground-watch.js';

class TestWatch extends ForegroundWatch {
  protected override readonly clock = new ManualClock();

  /** Number of checks in the next `seconds`. */
  async checksIn(seconds: number, count: () => number): Promise<number> {
    const before = count();
    for (let second = 0; second < seconds; second++) {
      this.clock.advance(1_000);
      await setImmediate();
    }
    return count() - before;
  }
}

function stage(env: Readonly<Record<string, string>>) {
  const state = { checks: 0, found: [] as JobRef[], cancelled: [] as string[], refused: '' };
  const repository = {
    findUnwatched: () => {
      state.checks += 1;
      return Promise.resolve(state.found);
    },
  };
  const stopper = {
    cancelTree: ({ jobId }: JobRef) => {
      state.cancelled.push(jobId);
      return jobId === state.refused ? Promise.reject(new Error('the row is refused')) : Promise.resolve();
    },
  };
  // What a watch uses of them.
  const watch = new TestWatch(
    ...([repository, stopper] as unknown as [ForegroundJobsRepository, JobStopper]),
    Config.from({ NODE_ENV: 'test', FOREGROUND_GRACE_MS: '60000', ...env }),
    createLogger({ level: 'silent' }),
  );
  watch.start();
  return { state, checksIn: (seconds: number) => watch.checksIn(seconds, () => state.checks) };
}

it('ForegroundWatch looks for jobs without a client rarely while jobs run in the background, and each second after it saw one', async () => {
  const { state, checksIn } = stage({ BACKGROUND_JOBS_ENABLED: 'true' });
  expect(await checksIn(60)).toBe(4);
  state.found = [{ workspaceId: 'w', jobId: 'j' }];
  await checksIn(15);
  state.found = [];
  expect(await checksIn(60)).toBe(60);
  await checksIn(600);
  expect(await checksIn(60)).toBe(4);
});

it('ForegroundWatch looks for jobs without a client each second while jobs run with a client only', async () => {
  const { checksIn } = stage({ BACKGROUND_JOBS_ENABLED: 'false' });
  expect(await checksIn(60)).toBe(60);
});

it('ForegroundWatch cancels a job without a client although another one cannot be cancelled', async () => {
  const { state, checksIn } = stage({ BACKGROUND_JOBS_ENABLED: 'false' });
  state.found = ['first', 'second'].map((jobId) => ({ workspaceId: 'w', jobId }));
  state.refused = 'first';
  await checksIn(62);
  expect(new Set(state.cancelled)).toEqual(new Set(['first', 'second']));
});
