import { ArgsType, Field, Float, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import type { Role } from '#auth';
import { MemberRoleEnum } from '#auth/api';
import { DecidableByEnum } from '#jobs/api';
import { DateTime, Json, payloadOf } from '#platform/api';

import { ApprovalActionEnum, ExpireActionEnum, PolicyLayerEnum } from './approval.enums.js';

@ObjectType('ApprovalPolicy', { description: 'A version of the approval policy of the workspace.' })
export class ApprovalPolicyModel {
  @Field(() => Int, { description: '1, 2, 3 … Version 0 is the default policy, in force until one is saved.' })
  version!: number;

  @Field(() => Json, { description: 'The policy in the format of `saveApprovalPolicy`, with all defaults filled in.' })
  policy!: unknown;

  @Field(() => String, { nullable: true, description: 'Who saved it: `user:<id>` or `key:<id>`.' })
  createdBy!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was saved.' })
  createdAt!: number | null;
}

@ObjectType({ description: 'The rule that applied.' })
export class PolicyRule {
  @Field(() => PolicyLayerEnum, { description: 'The layer of the rule.' })
  layer!: string;

  @Field(() => Int, { nullable: true, description: 'Its index in `rules`, from 0. Null: the default of its layer.' })
  index!: number | null;

  @Field(() => String, { description: 'Its glob.' })
  match!: string;

  @Field(() => String, { description: 'A description of its effect.' })
  reason!: string;
}

@ObjectType({ description: 'The verdict of a policy on a call.' })
export class PolicyVerdict {
  @Field(() => ApprovalActionEnum, { description: 'The action.' })
  action!: string;

  @Field(() => PolicyRule, { description: 'The rule that applied.' })
  rule!: PolicyRule;

  @Field(() => Float, { nullable: true, description: 'Lifetime of the request, in ms. Null: unlimited.' })
  timeoutMs!: number | null;

  @Field(() => ExpireActionEnum, { description: 'What happens when the request expires.' })
  expireAction!: string;

  @Field(() => DecidableByEnum, { description: 'Who may decide the approval request.' })
  decidableBy!: string;

  @Field(() => Boolean, { description: 'Whether the requester is excluded.' })
  fourEyes!: boolean;

  @Field(() => Boolean, { description: 'Whether only approvers may decide and grants do not apply.' })
  locked!: boolean;
}

@ObjectType({ description: 'How the policy would treat a call.' })
export class PolicyExplanation {
  @Field(() => PolicyVerdict, { description: 'The final verdict: the strictest of all layers.' })
  verdict!: PolicyVerdict;

  @Field(() => [PolicyVerdict], { description: 'The verdict of each layer.' })
  layers!: PolicyVerdict[];

  @Field(() => Int, {
    description: 'The version of the policy that was evaluated. 0: the workspace has not saved a policy.',
  })
  policyVersion!: number;

  @Field(() => Boolean, { description: 'Whether the workspace has a tool of that name.' })
  isKnownTool!: boolean;

  @Field(() => ID, { nullable: true, description: 'The grant that would approve the call if the caller made it.' })
  grantId!: string | null;
}

@ArgsType()
export class ExplainPolicyArgs {
  @Field(() => String, { description: 'The full name of the tool.' })
  tool!: string;

  @Field(() => Json, { nullable: true, description: 'Its arguments, an object; absent: `{}`.' })
  arguments?: unknown;

  @Field(() => String, { nullable: true, description: 'The agent that would make the call.' })
  agent?: string | null;

  @Field(() => MemberRoleEnum, { nullable: true, description: 'The role of the requester; absent: yours.' })
  role?: Role | null;

  @Field(() => ID, { nullable: true, description: 'The thread (server id) whose grants apply.' })
  threadId?: string | null;
}

@InputType({ description: 'The new policy.' })
export class SaveApprovalPolicyInput {
  @Field(() => Json, {
    description:
      '`{default, timeoutDays, expireAction, decidableBy, fourEyes, rules}`. Absent fields get their defaults.',
  })
  policy!: unknown;

  @Field(() => Int, {
    nullable: true,
    description: 'The version that the change is based on. If it is no longer current, nothing is saved.',
  })
  expectedVersion?: number | null;
}

export const ValidateApprovalPolicyPayload = payloadOf({
  name: 'ValidateApprovalPolicyPayload',
  description: 'A policy with its defaults, or its faults.',
  fields: { policy: [Json, 'The policy with all defaults filled in.'] },
  errors: 'The faults of the policy.',
});

export const ApprovalPolicyPayload = payloadOf({
  name: 'ApprovalPolicyPayload',
  description: 'The policy after the change, or the reasons why nothing changed.',
  fields: { approvalPolicy: [ApprovalPolicyModel, 'The policy.'] },
});
