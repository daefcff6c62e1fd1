import { Injectable } from '@nestjs/common';

import { type MemberPrincipal, PrincipalsRepository } from '#auth';
import { Config } from '#platform';

import { parseArguments } from '../parse-arguments.js';
import type { Tool } from '../tool.js';
import type { CallState } from '../tool-call.js';
import { type ApprovalPolicy, DEFAULT_POLICY } from './approval-policy.js';
import { ApprovalPoliciesService } from './approval-policies.service.js';
import { ApprovalGrantsService } from './approval-grants.service.js';
import { type CallQuestion, judgeCall, type Verdict } from './judge-call.js';
import { mayDecide } from './may-decide.js';

/** On whose behalf and where a call is made. */
export interface GateJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  /** The user who started it; null: nobody. */
  readonly createdBy: string | null;
  /** As on the job: `user:<id>` or `key:<id>`. */
  readonly principal: string;
  readonly agent: string | null;
  /** What the request itself asked for; it can only tighten. */
  readonly requestPolicy: ApprovalPolicy | null;
}

export interface GateCall {
  readonly name: string;
  /** JSON text that would be run. */
  readonly arguments: string;
}

/** What the gate says of a call. */
export type GateAnswer =
  | { readonly type: 'run'; readonly approval: 'policy' | 'grant'; readonly grantId: string | null }
  | { readonly type: 'ask'; readonly verdict: Verdict }
  /** `reason` is for people; the model reads that there is no such tool. */
  | { readonly type: 'refuse'; readonly approval: 'blocked' | 'withdrawn'; readonly reason: string };

/** How a call was allowed, when it is about to run. */
export type Allowance = Pick<CallState, 'approval' | 'decidedBy' | 'terms'>;

/**
 * The one door in front of every tool: asked when a call is created and again right before it runs, with the policy, the
 * memberships and the grants as they are at that moment (at most a second old). The stricter answer counts.
 */
@Injectable()
export class CallGate {
  private readonly instance: ApprovalPolicy;

  constructor(
    private readonly policies: ApprovalPoliciesService,
    private readonly grants: ApprovalGrantsService,
    private readonly principals: PrincipalsRepository,
    config: Config,
  ) {
    this.instance = { ...DEFAULT_POLICY, default: config.values.TOOL_APPROVAL_DEFAULT };
  }

  /** For a call that was just proposed. `tool` null: it is the client's own. */
  async judge(job: GateJob, call: GateCall, tool: Tool | null): Promise<GateAnswer> {
    const requester = await this.principals.find(job.workspaceId, job.principal);
    if (requester === null) return lost('the requester is no member any more');
    const verdict = await this.verdictOf({ job, call, tool, requester });
    switch (verdict.action) {
      case 'auto_approve':
        return { type: 'run', approval: 'policy', grantId: null };
      case 'block':
        return { type: 'refuse', approval: 'blocked', reason: verdict.rule.reason };
      case 'require_approval':
        return (await this.byGrant(job, { call, tool, verdict })) ?? { type: 'ask', verdict };
    }
  }

  /**
   * For a call that is about to start. One that a person approved runs only while that person could still approve it; one that
   * nobody had to approve is asked for if the policy has become stricter.
   */
  async recheck(job: GateJob, asked: { call: GateCall; tool: Tool | null; allowed: Allowance }): Promise<GateAnswer> {
    const { call, tool, allowed } = asked;
    const answer = await this.judge(job, call, tool);
    if (answer.type !== 'ask' || allowed.approval !== 'person') return answer;
    const decider = allowed.decidedBy === null ? null : await this.principals.find(job.workspaceId, allowed.decidedBy);
    const { workspaceId, createdBy } = job;
    const { decidableBy, fourEyes, locked } = answer.verdict;
    const terms = {
      decidableBy: allowed.terms?.decidableBy ?? decidableBy,
      fourEyes: fourEyes || allowed.terms?.fourEyes === true,
      adminRequired: locked || allowed.terms?.adminRequired === true,
    };
    const stillMay =
      decider !== null && mayDecide(decider, { ...terms, workspaceId, requester: createdBy, jobCreatedBy: createdBy });
    if (!stillMay) return lost('approval withdrawn');
    return { type: 'run', approval: 'policy', grantId: null };
  }

  private async verdictOf(asked: {
    job: GateJob;
    call: GateCall;
    tool: Tool | null;
    requester: MemberPrincipal;
  }): Promise<Verdict> {
    const { job, call, tool, requester } = asked;
    const { policy } = await this.policies.current(job.workspaceId);
    const parsed = parseArguments(call.arguments);
    const layers: CallQuestion['layers'] = [
      { name: 'instance', policy: this.instance },
      { name: 'workspace', policy },
      ...(job.requestPolicy === null ? [] : [{ name: 'request' as const, policy: job.requestPolicy }]),
    ];
    return judgeCall({
      tool: call.name,
      arguments: parsed.ok ? parsed.value : null,
      agent: job.agent,
      principal: { id: requester.id, role: requester.role, userId: requester.userId },
      layers,
      ownApproval: tool?.approval ?? null,
    });
  }

  private async byGrant(
    job: GateJob,
    { call, tool, verdict }: { call: GateCall; tool: Tool | null; verdict: Verdict },
  ): Promise<GateAnswer | null> {
    const { workspaceId, threadId, createdBy, agent } = job;
    if (verdict.locked || threadId === null || createdBy === null) return null;
    const { version: policyVersion } = await this.policies.current(workspaceId);
    const operation = operationOf(call, tool);
    if (operation === null) return null;
    const grant = await this.grants.findUsable(workspaceId, {
      threadId,
      requester: createdBy,
      agent,
      operation,
      policyVersion,
    });
    if (grant === null) return null;
    await this.grants.recordUse(workspaceId, { grantId: grant.id, jobId: job.jobId, tool: call.name });
    return { type: 'run', approval: 'grant', grantId: grant.id };
  }
}

/** What a timed grant is for: the tool, narrowed by what the tool says of the arguments. Null: they cannot be shown. */
export function operationOf(call: GateCall, tool: Pick<Tool, 'grantKey'> | null): string | null {
  const parsed = parseArguments(call.arguments);
  if (!parsed.ok) return null;
  const narrowed = tool?.grantKey?.(parsed.value);
  return narrowed === undefined ? call.name : `${call.name} ${narrowed}`;
}

function lost(reason: string): GateAnswer {
  return { type: 'refuse', approval: 'withdrawn', reason };
}
