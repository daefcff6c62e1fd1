import { both, toIdOrNone } from '#platform/api';

import type { JobStatus } from '../job.lifecycle.js';
import type { JobFilter } from '../jobs.repository.js';
import type { JobFilterInput } from './jobs.args.js';

/** The filter of the engine. Of two comparisons of one member both must hold. */
export function toJobFilter(input: JobFilterInput | null | undefined): JobFilter {
  const { status, kind, threadId, workflowId, createdBy, createdAt } = input ?? {};
  const statuses = both<JobStatus>(status?.eq, status?.in);
  const kinds = both<string>(kind?.eq, kind?.in);
  return {
    ...(statuses === undefined ? {} : { statuses }),
    ...(kinds === undefined ? {} : { kinds }),
    ...(threadId == null ? {} : { threadId: toIdOrNone(threadId.eq) }),
    ...(workflowId == null ? {} : { workflowId: toIdOrNone(workflowId.eq) }),
    ...(createdBy == null ? {} : { createdBy: toIdOrNone(createdBy.eq) }),
    ...(createdAt?.gte == null ? {} : { createdAfter: createdAt.gte }),
    ...(createdAt?.lt == null ? {} : { createdBefore: createdAt.lt }),
  };
}
