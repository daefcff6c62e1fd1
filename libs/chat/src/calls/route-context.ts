import type { ApprovalPolicy } from '#approvals';
import type { ClaimedJob } from '#jobs';
import type { ClientSide, OfferedTool } from '#tools';

import type { RouteContext } from './call-router.js';

/** The options of a request that apply to all calls of its job. */
export interface CallOptions {
  /** The request's layer of the approval policy; it only tightens the workspace's policy. */
  readonly toolApproval?: ApprovalPolicy;
  /** Policy layers of the agents of the parent jobs. */
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** Present if clients of the requester may run tools. */
  readonly client?: ClientSide;
  /** The agent that makes the calls, with its layer of the policy. */
  readonly agent?: { readonly name: string | null; readonly toolApproval: ApprovalPolicy | null } | null;
}

/** The context in which the calls of a job are routed. */
export function routeContext(
  job: Pick<ClaimedJob, 'workspaceId' | 'jobId' | 'threadId' | 'createdBy' | 'principal'>,
  { client, toolApproval, callerPolicies = [], agent = null }: CallOptions,
  offered: readonly OfferedTool[],
): RouteContext {
  const { workspaceId, jobId, threadId, createdBy, principal } = job;
  const policies = { requestPolicy: toolApproval ?? null, agentPolicy: agent?.toolApproval ?? null, callerPolicies };
  const gateJob = { workspaceId, jobId, threadId, createdBy, principal, agent: agent?.name ?? null, ...policies };
  return { job: gateJob, offered, client };
}
