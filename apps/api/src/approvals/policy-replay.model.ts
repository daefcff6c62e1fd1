import { ArgsType, Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { Json } from '../graphql/scalars/json.scalar.js';
import { ApprovalActionEnum } from './approval.enums.js';

@ObjectType({ description: 'How many calls a policy treats in which way.' })
export class PolicyCounts {
  @Field(() => Int, { name: 'autoApprove', description: 'Calls that run at once.' })
  auto_approve!: number;

  @Field(() => Int, { name: 'requireApproval', description: 'Calls that somebody is asked about.' })
  require_approval!: number;

  @Field(() => Int, { description: 'Calls that do not run.' })
  block!: number;
}

@ObjectType({ description: 'A past call that the draft would treat otherwise.' })
export class PolicyChange {
  @Field(() => ID, { description: 'The call.' })
  id!: string;

  @Field(() => ID, { description: 'Its job.' })
  jobId!: string;

  @Field(() => String, { description: 'Its tool.' })
  tool!: string;

  @Field(() => ApprovalActionEnum, { description: 'By the policy of now.' })
  before!: string;

  @Field(() => ApprovalActionEnum, { description: 'By the draft.' })
  after!: string;

  @Field(() => String, { description: 'Why, in the words of the draft.' })
  reason!: string;
}

@ObjectType({ description: 'How often a rule of the draft was the first to meet a call.' })
export class PolicyRuleHits {
  @Field(() => Int, { nullable: true, description: 'Its place in `rules`, from 0; null: the default.' })
  index!: number | null;

  @Field(() => Int, { description: 'How many calls it met.' })
  hits!: number;
}

@ObjectType({ description: 'What a draft of a policy would have done to the calls of the past.' })
export class PolicyReplayModel {
  @Field(() => Int, { description: 'How many calls were looked at.' })
  examined!: number;

  @Field(() => Boolean, { description: 'False: it took too long, and older calls were left out.' })
  isComplete!: boolean;

  @Field(() => PolicyCounts, { description: 'What the policy of now would do to them.' })
  before!: PolicyCounts;

  @Field(() => PolicyCounts, { description: 'What the draft would do to them.' })
  after!: PolicyCounts;

  @Field(() => Int, { description: 'How many the draft treats otherwise.' })
  changed!: number;

  @Field(() => [PolicyChange], { description: 'The newest of these, at most 50.' })
  changes!: PolicyChange[];

  @Field(() => [PolicyRuleHits], { description: 'The rules of the draft that met a call, and its default.' })
  rules!: PolicyRuleHits[];
}

@ArgsType()
export class DryRunPolicyArgs {
  @Field(() => Json, { description: 'The draft, as `saveApprovalPolicy` takes it.' })
  policy!: unknown;

  @Field(() => Int, { nullable: true, description: 'How many of the last calls: 1 to 10,000; 1,000 by default.' })
  lastCalls?: number | null;
}
