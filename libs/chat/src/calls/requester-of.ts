import type { FlagCaller } from '#auth';
import type { ClaimedJob } from '#jobs';

/** The user who started a job, in its workspace: the one whose feature flags count. */
export function requesterOf({ workspaceId, createdBy }: Pick<ClaimedJob, 'workspaceId' | 'createdBy'>): FlagCaller {
  return { workspaceId, userId: createdBy };
}
