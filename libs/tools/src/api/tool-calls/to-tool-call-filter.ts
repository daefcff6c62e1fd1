import { toStorableText } from '#platform';
import { both, toIdOrNone } from '#platform/api';

import { parseArgumentCondition } from '../../history/argument-content.js';
import type { ToolCallFilter } from '../../history/tool-call-filter.js';
import type { ToolSort } from '../../tool.js';
import type { ToolCallStatus } from '../../tool-call.js';
import type { ToolCallFilterInput } from './tool-calls.args.js';

/** Converts the GraphQL filter of the history. If a field has two comparisons, both must hold. Throws `bad_request`. */
export function toToolCallFilter(input: ToolCallFilterInput | null | undefined): ToolCallFilter {
  const { createdBy, threadId, jobId, workflowId, tool, runtime, status, error, approver } = input ?? {};
  const { createdAt, durationMs, argument } = input ?? {};
  return withoutGaps({
    createdBy: createdBy == null ? null : toIdOrNone(createdBy.eq),
    threadId: threadId == null ? null : toIdOrNone(threadId.eq),
    jobId: jobId == null ? null : toIdOrNone(jobId.eq),
    workflowId: workflowId == null ? null : toIdOrNone(workflowId.eq),
    tool,
    runtimes: both<ToolSort>(runtime?.eq, runtime?.in),
    statuses: both<ToolCallStatus>(status?.eq, status?.in),
    errorPhase: error?.phase,
    errorCode: error?.code,
    errorText: error?.text,
    approver: approver == null ? null : toPrincipalId(approver),
    createdAfter: createdAt?.gte,
    createdBefore: createdAt?.lt,
    minDurationMs: durationMs?.gte,
    maxDurationMs: durationMs?.lt,
    arguments: argument?.map(parseArgumentCondition),
  });
}

/** Converts the `approver` of a filter to a principal id: a plain user id becomes `user:<id>`. */
export function toPrincipalId(text: string): string {
  return text.includes(':') ? text : `user:${text}`;
}

type Gappy<T> = { readonly [K in keyof T]: T[K] | null | undefined };

/** Leaves out absent fields. Texts are normalized as they are stored. */
export function withoutGaps(filter: Gappy<Required<ToolCallFilter>>): ToolCallFilter {
  const given = Object.entries(filter).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? toStorableText(value) : value]),
  );
}
