import type { InterruptKind, InterruptStatus } from '#jobs';
import { defined, toStorableText } from '#platform';
import { both, toIdOrNone } from '#platform/api';

import type { InterruptQuery } from '../../interrupts/interrupts.service.js';
import type { InterruptFilterInput } from './interrupts.args.js';

/** The query of the inbox. Of two comparisons of one member both must hold. */
export function toInterruptQuery(input: InterruptFilterInput | null | undefined): InterruptQuery {
  const { status, kind, tool, jobId, rootJobId, threadId, assignee, createdAt } = input ?? {};
  const statuses = both<InterruptStatus>(status?.eq, status?.in);
  const kinds = both<InterruptKind>(kind?.eq, kind?.in);
  return {
    ...defined({ statuses, kinds }),
    ...(tool == null ? {} : { tool: toStorableText(tool.eq) }),
    ...(jobId == null ? {} : { jobId: toIdOrNone(jobId.eq) }),
    ...(rootJobId == null ? {} : { rootJobId: toIdOrNone(rootJobId.eq) }),
    ...(threadId == null ? {} : { threadId: toIdOrNone(threadId.eq) }),
    ...(assignee == null ? {} : { assignee: toAssignee(assignee.eq) }),
    ...(createdAt?.gte == null ? {} : { createdAfter: createdAt.gte }),
    ...(createdAt?.lt == null ? {} : { createdBefore: createdAt.lt }),
  };
}

function toAssignee(text: string): NonNullable<InterruptQuery['assignee']> {
  return text === 'MINE' ? 'mine' : { userId: toIdOrNone(text) };
}
