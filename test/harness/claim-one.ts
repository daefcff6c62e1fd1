import type { ClaimedJob } from '#jobs';

import type { JobRef } from '../../libs/jobs/src/job.js';
import type { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';

/** Claims a job as a worker does: repeated while another claim counts the running jobs of its workspace. Undefined: it is not claimable. */
export async function claimOne(leases: LeaseRepository, ref: JobRef, owner: string): Promise<ClaimedJob | undefined> {
  for (;;) {
    const { claimed, deferred } = await leases.claim([ref], owner);
    if (claimed[0] !== undefined || deferred.length === 0) return claimed[0];
  }
}
