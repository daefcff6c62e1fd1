import { Injectable } from '@nestjs/common';

import type { Principal, Role } from '#auth';
import { Config, isId, toStorable } from '#platform';
import { ToolCatalog } from '#tools';

import { ApprovalGrantsService } from '../grants/approval-grants.service.js';
import { ApprovalPoliciesService, assertMaySee } from '../policies/approval-policies.service.js';
import { instancePolicy } from '../policies/instance-policy.js';
import { judgeLayers, strictestOf, type Verdict } from '../policies/judge-call.js';
import { operationOf } from './call-gate.js';

/** A hypothetical call, to evaluate against the policy. */
export interface ImaginedCall {
  readonly tool: string;
  readonly arguments: unknown;
  readonly agent: string | null;
  /** The role of the hypothetical caller; null: the role of the principal that calls `explain`. */
  readonly role: Role | null;
  /** The thread of the call; null: no thread, so grants do not apply. */
  readonly threadId: string | null;
}

/** How the policy would treat a call. */
export interface Explanation {
  /** The final verdict: the strictest of all layers. */
  readonly verdict: Verdict;
  /** The verdict of each layer alone: the installation, the workspace and, if it has one, the tool. */
  readonly layers: readonly Verdict[];
  /** The version of the workspace's policy that was evaluated; 0: the workspace has not saved a policy. */
  readonly policyVersion: number;
  /** Whether the workspace has a tool of that name. */
  readonly isKnownTool: boolean;
  /** The grant that would approve the call if the caller made it. */
  readonly grantId: string | null;
}

/** Explains which rule applies to a hypothetical call. Runs nothing and stores nothing. */
@Injectable()
export class PolicyExplainer {
  constructor(
    private readonly policies: ApprovalPoliciesService,
    private readonly grants: ApprovalGrantsService,
    private readonly catalog: ToolCatalog,
    private readonly config: Config,
  ) {}

  /** Throws `not_found` to principals that may not read the policy, and `not_storable` for arguments that no call can have. */
  async explain(principal: Principal, call: ImaginedCall): Promise<Explanation> {
    assertMaySee(principal);
    const { workspaceId, id, userId } = principal;
    const args = toStorable(call.arguments, 'arguments');
    const { version: policyVersion, policy } = (await this.policies.find(principal)) ?? { version: 0, policy: null };
    const tool = (await this.catalog.of(workspaceId)).find(call.tool);
    const layers = judgeLayers({
      tool: call.tool,
      arguments: args,
      agent: call.agent,
      principal: { id, role: call.role ?? principal.role, userId },
      layers: [
        { name: 'instance', policy: instancePolicy(this.config) },
        ...(policy === null ? [] : [{ name: 'workspace' as const, policy }]),
      ],
      ownApproval: tool?.approval ?? null,
    });
    const verdict = strictestOf(layers);
    const made = { name: call.tool, arguments: JSON.stringify(args) };
    // A grant is bound to a version of a server tool, so no grant can apply to a tool that the workspace does not have.
    const isGrantable = verdict.action === 'require_approval' && !verdict.locked && tool !== undefined;
    const operation = isGrantable ? operationOf(made, tool) : null;
    const grantId = await this.grantFor(principal, { ...call, operation, policyVersion });
    return { verdict, layers, policyVersion, isKnownTool: tool !== undefined, grantId };
  }

  private async grantFor(
    { workspaceId, userId }: Principal,
    call: Pick<ImaginedCall, 'threadId' | 'agent'> & {
      readonly operation: string | null;
      readonly policyVersion: number;
    },
  ): Promise<string | null> {
    const { threadId, agent, operation, policyVersion } = call;
    if (operation === null || userId === null || threadId === null || !isId(threadId)) return null;
    const need = { threadId, requester: userId, agent, operation, policyVersion };
    return (await this.grants.findUsable(workspaceId, need))?.id ?? null;
  }
}
