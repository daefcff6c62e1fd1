import { Args, Context, Int, Mutation, Query, Resolver } from '@nestjs/graphql';

import {
  ApprovalPoliciesService,
  type Explanation,
  PolicyExplainer,
  type PolicyReplay,
  PolicyReplayService,
  type StoredPolicy,
} from '#tools';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { orNull } from '../graphql/or-null.js';
import { toPayload } from '../graphql/user-error.model.js';
import {
  ApprovalPolicyModel,
  ApprovalPolicyPayload,
  ExplainPolicyArgs,
  PolicyExplanation,
  SaveApprovalPolicyInput,
} from './approval-policy.model.js';
import { DryRunPolicyArgs, PolicyReplayModel } from './policy-replay.model.js';

const usualReplay = 1_000;
/** More than half of what a document may cost: it reads up to 10,000 calls. */
const replayCost = 6_000;

/** Shows, tries and changes the approval policy of a workspace. */
@Resolver(() => ApprovalPolicyModel)
export class ApprovalPolicyResolver {
  constructor(
    private readonly policies: ApprovalPoliciesService,
    private readonly explainer: PolicyExplainer,
    private readonly replays: PolicyReplayService,
  ) {}

  @Query(() => ApprovalPolicyModel, {
    nullable: true,
    description: 'The approval policy of the workspace, for those who run it; else null.',
  })
  approvalPolicy(
    @Args('version', { type: () => Int, nullable: true, description: 'An earlier one; absent: the current one.' })
    version: number | null,
    @Context() { member }: GraphqlContext,
  ): Promise<StoredPolicy | null> {
    return orNull(this.policies.find(member, version));
  }

  @Query(() => PolicyExplanation, {
    nullable: true,
    description:
      'Which rule a call would meet, for those who may see the policy; else null. Nothing is called or asked.',
  })
  explainPolicy(
    @Args() { tool, arguments: args, agent, role, threadId }: ExplainPolicyArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<Explanation | null> {
    const made = { tool, arguments: args ?? {}, agent: agent ?? null, role: role ?? null, threadId: threadId ?? null };
    return orNull(this.explainer.explain(member, made));
  }

  @Query(() => PolicyReplayModel, {
    nullable: true,
    description:
      'What a draft would have done to the last calls, for those who may see policy and calls; else null. Past calls are judged with the tools and roles of now. Nothing is saved.',
    complexity: replayCost,
  })
  dryRunPolicy(
    @Args() { policy, lastCalls }: DryRunPolicyArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<PolicyReplay | null> {
    return orNull(this.replays.dryRun(member, { policy, lastCalls: lastCalls ?? usualReplay }));
  }

  @Mutation(() => ApprovalPolicyPayload, {
    description: 'Saves a new version of the approval policy. Timed grants given under the old one end.',
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
