import type { ClaimedJob } from '#jobs';
import type { ApprovalPolicy, ClientSide, OfferedTool } from '#tools';

import type { RouteContext } from './call-router.js';

/** What a request says about all its calls. */
export interface CallTerms {
  /** Rules of its own; they only tighten the policy of the workspace. */
  readonly toolApproval?: ApprovalPolicy;
  /** Layers of the agents whose calls have led to the job. */
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** Present when clients of the requester may be asked to run tools. */
  readonly client?: ClientSide;
  /** Who makes the calls; it has a layer of the policy of its own. */
  readonly agent?: { readonly name: string | null; readonly toolApproval: ApprovalPolicy | null } | null;
}

/** By what the calls of a job are judged. */
export function routeContext(
  job: Pick<ClaimedJob, 'workspaceId' | 'jobId' | 'threadId' | 'createdBy' | 'principal'>,
  { client, toolApproval, callerPolicies = [], agent = null }: CallTerms,
  offered: readonly OfferedTool[],
): RouteContext {
  const { workspaceId, jobId, threadId, createdBy, principal } = job;
  const policies = { requestPolicy: toolApproval ?? null, agentPolicy: agent?.toolApproval ?? null, callerPolicies };
  const gateJob = { workspaceId, jobId, threadId, createdBy, principal, agent: agent?.name ?? null, ...policies };
  return { job: gateJob, offered, client };
}
