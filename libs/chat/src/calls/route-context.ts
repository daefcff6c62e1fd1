import type { ClaimedJob } from '#jobs';
import type { ApprovalPolicy, ClientSide, OfferedTool } from '#tools';

import type { RouteContext } from './call-router.js';

/** What a request says about all its calls. */
export interface CallTerms {
  /** Rules of its own; they only tighten the policy of the workspace. */
  readonly toolApproval?: ApprovalPolicy;
  /** Present when clients of the requester may be asked to run tools. */
  readonly client?: ClientSide;
}

/** By what the calls of a job are judged. */
export function routeContext(
  job: ClaimedJob,
  { client, toolApproval }: CallTerms,
  offered: readonly OfferedTool[],
): RouteContext {
  const { workspaceId, jobId, threadId, createdBy, principal } = job;
  const requestPolicy = toolApproval ?? null;
  return { job: { workspaceId, jobId, threadId, createdBy, principal, agent: null, requestPolicy }, offered, client };
}
