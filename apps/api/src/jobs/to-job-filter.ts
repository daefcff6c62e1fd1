import type { JobFilter, JobStatus } from '#jobs';
import { isId } from '#platform';

import type { JobFilterInput } from './jobs.args.js';

/** No row has this id: for filters by ids that cannot be ours, which then find nothing. */
const nobody = '00000000-0000-0000-0000-000000000000';

/** The filter of the engine. Of two comparisons of one member both must hold. */
export function toJobFilter(input: JobFilterInput | null | undefined): JobFilter {
  const { status, kind, threadId, createdBy, createdAt } = input ?? {};
  const statuses = both<JobStatus>(status?.eq, status?.in);
  const kinds = both<string>(kind?.eq, kind?.in);
  return {
    ...(statuses === undefined ? {} : { statuses }),
    ...(kinds === undefined ? {} : { kinds }),
    ...(threadId == null ? {} : { threadId: toId(threadId.eq) }),
    ...(createdBy == null ? {} : { createdBy: toId(createdBy.eq) }),
    ...(createdAt?.gte == null ? {} : { createdAfter: createdAt.gte }),
    ...(createdAt?.lt == null ? {} : { createdBefore: createdAt.lt }),
  };
}

function both<T>(eq: T | null | undefined, oneOf: readonly T[] | null | undefined): readonly T[] | undefined {
  if (eq == null) return oneOf ?? undefined;
  return oneOf == null || oneOf.includes(eq) ? [eq] : [];
}

function toId(text: string): string {
  return isId(text) ? text : nobody;
}
