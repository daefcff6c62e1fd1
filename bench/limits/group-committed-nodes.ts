import { newId } from '#platform';

import type { JobClient, JobTimes } from '../measure/load.js';
import type { Waves } from './commit-per-node.js';
import type { GroupCommittedStore } from './group-committed-store.js';

/** Writes the same rows as `CommitPerNode`, but those of all workflows together in one commit. */
export class GroupCommittedNodes implements JobClient {
  constructor(
    private readonly store: GroupCommittedStore,
    private readonly waves: Waves,
  ) {}

  async run(): Promise<JobTimes> {
    const startedAt = performance.now();
    const jobId = newId();
    for (const width of this.waves) {
      await Promise.all(Array.from({ length: width }, () => this.store.write(jobId, 'x')));
    }
    const totalMs = performance.now() - startedAt;
    return { firstDeltaMs: totalMs, totalMs };
  }
}
