import { ArgsType, Field, Float, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import type { Role } from '#auth';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { DecidableByEnum } from '../interrupts/interrupt.enums.js';
import { MemberRoleEnum } from '../workspaces/workspace.model.js';
import { ApprovalActionEnum, ExpireActionEnum, PolicyLayerEnum } from './approval.enums.js';

@ObjectType('ApprovalPolicy', { description: 'A version of the approval policy of the workspace.' })
export class ApprovalPolicyModel {
  @Field(() => Int, { description: '1, 2, 3 …; 0: none was ever saved, and this is what holds then.' })
  version!: number;

  @Field(() => Json, { description: 'The policy, as `saveApprovalPolicy` takes it, with all defaults filled in.' })
  policy!: unknown;

  @Field(() => String, { nullable: true, description: 'Who saved it: `user:<id>` or `key:<id>`.' })
  createdBy!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was saved.' })
  createdAt!: number | null;
}

@ObjectType({ description: 'The rule that counted.' })
export class PolicyRule {
  @Field(() => PolicyLayerEnum, { description: 'Whose rule it is.' })
  layer!: string;

  @Field(() => Int, { nullable: true, description: 'Its place in `rules`, from 0; null: the default of its layer.' })
  index!: number | null;

  @Field(() => String, { description: 'Its glob.' })
  match!: string;

  @Field(() => String, { description: 'A sentence that says what it does.' })
  reason!: string;
}

@ObjectType({ description: 'What a policy says of a call.' })
export class PolicyVerdict {
  @Field(() => ApprovalActionEnum, { description: 'What becomes of it.' })
  action!: string;

  @Field(() => PolicyRule, { description: 'The rule that says so.' })
  rule!: PolicyRule;

  @Field(() => Float, { nullable: true, description: 'Ms until a request expires; null: never.' })
  timeoutMs!: number | null;

  @Field(() => ExpireActionEnum, { description: 'What its expiry means.' })
  expireAction!: string;

  @Field(() => DecidableByEnum, { description: 'Who may decide it.' })
  decidableBy!: string;

  @Field(() => Boolean, { description: 'Whether the requester is not among them.' })
  fourEyes!: boolean;

  @Field(() => Boolean, { description: 'Whether only approvers decide, and no grant does.' })
  locked!: boolean;
}

@ObjectType({ description: 'What would become of a call.' })
export class PolicyExplanation {
  @Field(() => PolicyVerdict, { description: 'What counts in the end: the strictest of the layers.' })
  verdict!: PolicyVerdict;

  @Field(() => [PolicyVerdict], { description: 'What each layer says by itself.' })
  layers!: PolicyVerdict[];

  @Field(() => Int, { description: 'The version of the policy that was asked.' })
  policyVersion!: number;

  @Field(() => Boolean, { description: 'Whether the workspace has a tool of that name.' })
  isKnownTool!: boolean;

  @Field(() => ID, { nullable: true, description: 'The timed grant that would approve it, if you made the call.' })
  grantId!: string | null;
}

@ArgsType()
export class ExplainPolicyArgs {
  @Field(() => String, { description: 'The full name of the tool.' })
  tool!: string;

  @Field(() => Json, { nullable: true, description: 'Its arguments, an object; absent: `{}`.' })
  arguments?: unknown;

  @Field(() => String, { nullable: true, description: 'The agent that would call it.' })
  agent?: string | null;

  @Field(() => MemberRoleEnum, { nullable: true, description: 'The role of the requester; absent: yours.' })
  role?: Role | null;

  @Field(() => ID, { nullable: true, description: 'The thread (our id) whose grants count.' })
  threadId?: string | null;
}

@InputType({ description: 'The policy that holds from now on.' })
export class SaveApprovalPolicyInput {
  @Field(() => Json, {
    description:
      '`{default, timeoutDays, expireAction, decidableBy, fourEyes, rules}`; what is absent gets its default.',
  })
  policy!: unknown;

  @Field(() => Int, {
    nullable: true,
    description: 'The version it was made from: if another one is current by now, nothing is saved.',
  })
  expectedVersion?: number | null;
}

@ObjectType({ description: 'The policy as it is now, or why nothing changed.' })
export class ApprovalPolicyPayload {
  @Field(() => ApprovalPolicyModel, { nullable: true, description: 'The policy.' })
  approvalPolicy?: ApprovalPolicyModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
