import { Args, Context, Int, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { cpuBoundCost, Json, orNull, toPayload } from '#platform/api';

import { type Explanation, PolicyExplainer } from '../../gate/policy-explainer.service.js';
import type { StoredPolicy } from '../../policies/approval-policies.repository.js';
import { ApprovalPoliciesService } from '../../policies/approval-policies.service.js';
import { PolicyReplayService } from '../../policies/policy-replay.service.js';
import type { PolicyReplay } from '../../policies/replay-tally.js';
import {
  ApprovalPolicyModel,
  ApprovalPolicyPayload,
  ExplainPolicyArgs,
  PolicyExplanation,
  SaveApprovalPolicyInput,
  ValidateApprovalPolicyPayload,
} from './approval-policy.model.js';
import { DryRunPolicyArgs, PolicyReplayModel } from './policy-replay.model.js';

const usualReplay = 1_000;

/** Reads, tests and changes the approval policy of a workspace. */
@Resolver(() => ApprovalPolicyModel)
export class ApprovalPolicyResolver {
  constructor(
    private readonly policies: ApprovalPoliciesService,
    private readonly explainer: PolicyExplainer,
    private readonly replays: PolicyReplayService,
  ) {}

  @RequireAbility('read', 'Workspace')
  @Query(() => ApprovalPolicyModel, {
    nullable: true,
    description: 'The approval policy of the workspace. Null unless the caller is an admin.',
  })
  approvalPolicy(
    @Args('version', { type: () => Int, nullable: true, description: 'An earlier version. Absent: the current one.' })
    version: number | null,
    @Context() { member }: GraphqlContext,
  ): Promise<StoredPolicy | null> {
    return orNull(this.policies.find(member, version));
  }

  @RequireAbility('read', 'Workspace')
  @Query(() => PolicyExplanation, {
    nullable: true,
    description: 'The rule that would apply to a call. Runs nothing. Null unless the caller may read the policy.',
    complexity: cpuBoundCost,
  })
  explainPolicy(
    @Args() { tool, arguments: args, agent, role, threadId }: ExplainPolicyArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<Explanation | null> {
    const made = { tool, arguments: args ?? {}, agent: agent ?? null, role: role ?? null, threadId: threadId ?? null };
    return orNull(this.explainer.explain(member, made));
  }

  @RequireAbility('read', 'Workspace')
  @Query(() => PolicyReplayModel, {
    nullable: true,
    description:
      'How a draft policy would have treated the last calls, judged with the current tools and roles. Saves nothing. Null unless the caller may read the policy and the calls.',
    complexity: cpuBoundCost,
  })
  dryRunPolicy(
    @Args() { policy, lastCalls }: DryRunPolicyArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<PolicyReplay | null> {
    return orNull(this.replays.dryRun(member, { policy, lastCalls: lastCalls ?? usualReplay }));
  }

  @RequireAbility('read', 'Workspace')
  @Query(() => ValidateApprovalPolicyPayload, {
    description:
      'Validates a policy of the workspace or of an agent. Saves nothing. Requires the right to read the policy.',
    complexity: cpuBoundCost,
  })
  validateApprovalPolicy(
    @Args('policy', { type: () => Json, description: 'The policy in the format of `saveApprovalPolicy`.' })
    policy: unknown,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(() => Promise.resolve({ policy: this.policies.validate(member, policy) }));
  }

  @RequireAbility('change', 'Workspace')
  @Mutation(() => ApprovalPolicyPayload, {
    description: 'Saves a new version of the approval policy. Grants given under the old version end.',
  })
  saveApprovalPolicy(
    @Args('input', { type: () => SaveApprovalPolicyInput, description: 'The policy.' })
    { policy, expectedVersion }: SaveApprovalPolicyInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({
      approvalPolicy: await this.policies.save(member, { policy, expectedVersion: expectedVersion ?? null }),
    }));
  }
}
