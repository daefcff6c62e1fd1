import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { type Principal, PrincipalsRepository, systemPrincipal } from '#auth';
import { Config } from '#platform';
import { type CallState, parseArguments, type Tool, type ToolSort } from '#tools';

import { ApprovalGrantsService } from '../grants/approval-grants.service.js';
import { ApprovalPoliciesService } from '../policies/approval-policies.service.js';
import { type ApprovalPolicy, narrowerOf } from '../policies/approval-policy.js';
import { instancePolicy } from '../policies/instance-policy.js';
import { type CallQuestion, judgeCall, type Verdict } from '../policies/judge-call.js';
import { mayDecide } from '../policies/may-decide.js';
import { isApprovable } from '../requests/approval-request.js';

/** The job of a call: its workspace, requester and agent. */
export interface GateJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  /** The user who started the job; null: a schedule or the system did. */
  readonly createdBy: string | null;
  /** `user:<id>` or `key:<id>`, as stored with the job. */
  readonly principal: string;
  /** Name of the agent that makes the call. */
  readonly agent: string | null;
  /** The agent's own layer; it can only make the decision stricter. */
  readonly agentPolicy?: ApprovalPolicy | null;
  /** Layers of the agents whose calls have led to this job; they can only make the decision stricter. */
  readonly callerPolicies?: readonly ApprovalPolicy[] | null;
  /** The policy in the request that started the job; it can only make the decision stricter. */
  readonly requestPolicy: ApprovalPolicy | null;
}

export interface GateCall {
  readonly name: string;
  /** The arguments to run with, as JSON text. */
  readonly arguments: string;
  /** Fingerprint of a client's own tool; null: none was stored. For a server tool the gate uses the tool's version. */
  readonly version?: string | null;
  /**
   * Why a person must decide even if the policy or a grant allows the call; the approver reads it. A call that the policy blocks stays
   * blocked.
   */
  readonly mustAsk?: string;
  /** Whether the decision is only a preview, and the call is judged again before it runs. The gate then records no use of a grant. */
  readonly isPreview?: boolean;
}

/** The decision of the gate about a call. */
export type GateDecision =
  | { readonly type: 'run'; readonly approval: 'policy' | 'grant'; readonly grantId: string | null }
  | { readonly type: 'ask'; readonly verdict: Verdict }
  /** People read `reason`; the model reads that the tool does not exist. */
  | { readonly type: 'refuse'; readonly approval: 'blocked' | 'withdrawn'; readonly reason: string };

/** How a call that is about to run was allowed. */
export type Allowance = Pick<CallState, 'approval' | 'decidedBy' | 'decisionRules'>;

interface Asked {
  readonly call: GateCall;
  readonly tool: Tool | null;
  /** Null: the model has just proposed the call, and no decision exists. */
  readonly allowed: Allowance | null;
}

/** The fields of a tool that determine the operation of a grant. */
type GrantedTool = Pick<Tool, 'sort' | 'version' | 'grantKey' | 'sensitiveFields'>;

type Requester = Pick<Principal, 'id' | 'role' | 'userId'>;

/**
 * Checks every tool call when it is created and again right before it runs, with the policy, the
 * memberships and the grants of that moment (at most a second old). The stricter decision applies.
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
    this.instance = instancePolicy(config);
  }

  /** Decides about a call that the model has just proposed. `tool` null: a tool of the client. */
  async judge(job: GateJob, call: GateCall, tool: Tool | null): Promise<GateDecision> {
    return this.answer(job, { call, tool, allowed: null });
  }

  /**
   * Decides again about a call that is about to start. An approved call runs only if its approver could still approve it, even if the policy
   * now allows it. A call that needed no approval waits for one if the policy has become stricter.
   */
  async recheck(job: GateJob, asked: { call: GateCall; tool: Tool | null; allowed: Allowance }): Promise<GateDecision> {
    return this.answer(job, asked);
  }

  private async answer(job: GateJob, asked: Asked): Promise<GateDecision> {
    const requester = await this.requesterOf(job);
    if (requester === null) return withdrawn('the requester is not a member any more');
    const verdict = await this.verdictOf({ ...asked, job, requester });
    if (verdict.action === 'block') return { type: 'refuse', approval: 'blocked', reason: verdict.rule.reason };
    if (asked.call.mustAsk !== undefined) return { type: 'ask', verdict: toAsk(verdict, asked.call) };
    if (asked.allowed?.approval === 'person') return this.byPerson(job, asked.allowed, verdict);
    if (verdict.action === 'auto_approve') return { type: 'run', approval: 'policy', grantId: null };
    return (await this.byGrant(job, asked, verdict)) ?? { type: 'ask', verdict };
  }

  private async byPerson(
    job: GateJob,
    { decidedBy, decisionRules }: Allowance,
    verdict: Verdict,
  ): Promise<GateDecision> {
    const asks = verdict.action === 'require_approval';
    const mayStill = await this.mayDecide(job, decidedBy, {
      decidableBy: narrowerOf(decisionRules?.decidableBy ?? 'members', asks ? verdict.decidableBy : 'members'),
      fourEyes: decisionRules?.fourEyes === true || (asks && verdict.fourEyes),
      adminRequired: decisionRules?.adminRequired === true || (asks && verdict.locked),
    });
    return mayStill ? { type: 'run', approval: 'policy', grantId: null } : withdrawn('approval withdrawn');
  }

  /** A job without a requester acts as the system principal; approvers decide about its calls. */
  private requesterOf({ workspaceId, principal }: GateJob): Promise<Requester | null> {
    if (principal === 'system') return Promise.resolve(systemPrincipal(workspaceId));
    return this.principals.find(workspaceId, principal);
  }

  /** Whether a person, with their current role and scopes, could decide about a call of the job. */
  private async mayDecide(
    { workspaceId, createdBy }: GateJob,
    principalId: string | null,
    decisionRules: NonNullable<Allowance['decisionRules']>,
  ): Promise<boolean> {
    const person = principalId === null ? null : await this.principals.find(workspaceId, principalId);
    if (person === null) return false;
    return mayDecide(person, { ...decisionRules, workspaceId, requester: createdBy, jobCreatedBy: createdBy });
  }

  private async verdictOf(asked: Asked & { job: GateJob; requester: Requester }): Promise<Verdict> {
    const { job, call, tool, requester } = asked;
    const { policy } = await this.policies.current(job.workspaceId);
    const parsed = parseArguments(call.arguments);
    const layers: CallQuestion['layers'] = [
      { name: 'instance', policy: this.instance },
      { name: 'workspace', policy },
      ...(job.agentPolicy == null ? [] : [{ name: 'agent' as const, policy: job.agentPolicy }]),
      ...(job.callerPolicies ?? []).map((layer) => ({ name: 'agent' as const, policy: layer })),
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

  /** A grant applies only as long as the person who gave it could decide about such a call. */
  private async byGrant(job: GateJob, asked: Asked, verdict: Verdict): Promise<GateDecision | null> {
    const { workspaceId, threadId, createdBy: requester, agent, jobId } = job;
    const operation = operationOf(asked.call, asked.tool);
    if (verdict.locked || threadId === null || requester === null || operation === null) return null;
    const { version: policyVersion } = await this.policies.current(workspaceId);
    const need = { threadId, requester, agent, operation, policyVersion };
    const grant = await this.grants.findUsable(workspaceId, need);
    const { decidableBy, fourEyes } = verdict;
    const decisionRules = { decidableBy, fourEyes, adminRequired: false };
    if (grant === null || !(await this.mayDecide(job, grant.grantedBy, decisionRules))) return null;
    if (asked.allowed?.approval !== 'grant' && asked.call.isPreview !== true)
      await this.grants.recordUse(workspaceId, { grantId: grant.id, jobId, tool: asked.call.name });
    return { type: 'run', approval: 'grant', grantId: grant.id };
  }
}

/**
 * The operation of a timed grant: the tool's name, the operation that the tool derives from the arguments, and a fingerprint of
 * the approved version of the tool. Null: the call cannot be approved.
 */
export function operationOf(call: GateCall, tool: GrantedTool | null): string | null {
  const parsed = parseArguments(call.arguments);
  if (!parsed.ok || !isApprovable(call.arguments, tool?.sensitiveFields ?? [])) return null;
  // A client tool may have the name of a server tool. The prefix keeps their grants apart.
  if (tool === null) return `client:${call.name} ${markOf('client', call.version ?? '')}`;
  const narrowed = tool.grantKey?.(parsed.value);
  const what = narrowed === undefined ? call.name : `${call.name} ${narrowed}`;
  return `${what} ${markOf(tool.sort, tool.version)}`;
}

function markOf(sort: ToolSort, version: string): string {
  return `#${createHash('sha256').update(`${sort} ${version}`).digest('hex').slice(0, 12)}`;
}

/** A verdict that requires approval, under the conditions of the policy. */
function toAsk(verdict: Verdict, { name, mustAsk = '' }: GateCall): Verdict {
  if (verdict.action === 'require_approval') return verdict;
  const rule = { layer: 'request', index: null, match: name, reason: mustAsk } as const;
  return { ...verdict, action: 'require_approval', rule };
}

function withdrawn(reason: string): GateDecision {
  return { type: 'refuse', approval: 'withdrawn', reason };
}
