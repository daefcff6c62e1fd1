import type { FlagCaller } from '#auth';
import type { ClaimedJob } from '#jobs';

/** The user who started a job, in its workspace. Their feature flags decide which tools the job has. */
export function requesterOf({ workspaceId, createdBy }: Pick<ClaimedJob, 'workspaceId' | 'createdBy'>): FlagCaller {
  return { workspaceId, userId: createdBy };
}
