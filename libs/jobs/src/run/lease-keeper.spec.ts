import { describe, expect, it } from '@jest/globals';

import { createLogger, ManualClock } from '#platform';

import type { JobRun } from './job-run.js';
import type { LeaseRepository } from './lease.repository.js';
import { LeaseKeeper } from './lease-keeper.js';

/** A keeper of two runs of workspace `w` that wait for answers, one that does not, and one of another workspace. */
function scene() {
  const looks: { readonly of: string; end: (answered: ReadonlyMap<string, number> | Error) => void }[] = [];
  const repository = {
    countAnswers: (workspaceId: string, jobIds: readonly string[]) =>
      new Promise((resolve, reject) => {
        const end = (answer: ReadonlyMap<string, number> | Error) => {
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        };
        looks.push({ of: `${workspaceId}: ${jobIds.join(' ')}`, end });
      }),
  };
  // A stand-in: only this method of the repository is called.
  const keeper = new LeaseKeeper(repository as unknown as LeaseRepository, {
    leaseMs: 3_000,
    clock: new ManualClock(),
    logger: createLogger({ level: 'silent' }),
    onLost: () => undefined,
  });
  const noticed: string[] = [];
  const add = (workspaceId: string, jobId: string, isWaiting = true) => {
    const job = { workspaceId, jobId, epoch: 1 };
    const onAnswered = isWaiting ? () => undefined : undefined;
    const run = { job, onAnswered, noticeAnswers: (answered: number) => noticed.push(`${jobId} ${answered}`) };
    keeper.add(run as unknown as JobRun, 0); // the keeper reads only these members of a run
  };
  add('w', 'a');
  add('w', 'b');
  add('w', 'busy', false);
  add('v', 'c');
  const end = async (i: number, answer: ReadonlyMap<string, number> | Error) => {
    looks[i]?.end(answer);
    await new Promise(setImmediate);
  };
  return { keeper, end, noticed, looks: () => looks.map((look) => look.of) };
}

describe('LeaseKeeper.lookForAnswers', () => {
  it('reads once for all waiting jobs of the workspace and reports to each how often it was answered', async () => {
    const { keeper, end, noticed, looks } = scene();
    void keeper.lookForAnswers('w');
    expect(looks()).toEqual(['w: a b']);
    await end(0, new Map([['a', 2]]));
    expect(noticed).toEqual(['a 2', 'b 0']);
  });

  it('reads once more after any number of hints during a read', async () => {
    const { keeper, end, looks } = scene();
    for (let i = 0; i < 100; i += 1) void keeper.lookForAnswers('w');
    expect(looks()).toHaveLength(1);
    await end(0, new Map());
    expect(looks()).toHaveLength(2);
    await end(1, new Map());
    expect(looks()).toHaveLength(2);
    void keeper.lookForAnswers('w');
    expect(looks()).toHaveLength(3);
  });

  it('does not wait for the read of another workspace', () => {
    const { keeper, looks } = scene();
    void keeper.lookForAnswers('w');
    void keeper.lookForAnswers('v');
    expect(looks()).toEqual(['w: a b', 'v: c']);
  });

  it('reads again at the next hint after a read failed', async () => {
    const { keeper, end, looks } = scene();
    const looking = keeper.lookForAnswers('w');
    await end(0, new Error('no connection'));
    await expect(looking).resolves.toBeUndefined();
    void keeper.lookForAnswers('w');
    expect(looks()).toHaveLength(2);
  });

  it('reads nothing without a waiting job', async () => {
    const { keeper, looks } = scene();
    await keeper.lookForAnswers('elsewhere');
    expect(looks()).toEqual([]);
  });
});
