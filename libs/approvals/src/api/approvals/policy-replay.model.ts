import { ArgsType, Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { Json } from '#platform/api';

import { ApprovalActionEnum } from './approval.enums.js';

@ObjectType({ description: 'How many calls a policy treats in each way.' })
export class PolicyCounts {
  @Field(() => Int, { name: 'autoApprove', description: 'Calls that run at once.' })
  auto_approve!: number;

  @Field(() => Int, { name: 'requireApproval', description: 'Calls that need an approval.' })
  require_approval!: number;

  @Field(() => Int, { description: 'Calls that do not run.' })
  block!: number;
}

@ObjectType({ description: 'A past call that the draft would treat differently.' })
export class PolicyChange {
  @Field(() => ID, { description: 'The call.' })
  id!: string;

  @Field(() => ID, { description: 'Its job.' })
  jobId!: string;

  @Field(() => String, { description: 'Its tool.' })
  tool!: string;

  @Field(() => ApprovalActionEnum, { description: 'The action under the current policy.' })
  before!: string;

  @Field(() => ApprovalActionEnum, { description: 'The action under the draft.' })
  after!: string;

  @Field(() => String, { description: "The reason given by the draft's rule." })
  reason!: string;
}

@ObjectType({ description: 'How often a rule of the draft was the first to match a call.' })
export class PolicyRuleHits {
  @Field(() => Int, { nullable: true, description: 'Its index in `rules`, from 0. Null: the default.' })
  index!: number | null;

  @Field(() => Int, { description: 'How many calls it matched.' })
  hits!: number;
}

@ObjectType({ description: 'How a draft policy would have treated past calls.' })
export class PolicyReplayModel {
  @Field(() => Int, { description: 'How many calls were examined.' })
  examined!: number;

  @Field(() => Boolean, { description: 'False: a time limit was reached and older calls were left out.' })
  isComplete!: boolean;

  @Field(() => PolicyCounts, { description: 'Counts with the current policy.' })
  before!: PolicyCounts;

  @Field(() => PolicyCounts, { description: 'Counts with the draft.' })
  after!: PolicyCounts;

  @Field(() => Int, { description: 'How many calls the draft treats differently.' })
  changed!: number;

  @Field(() => [PolicyChange], { description: 'The newest of these calls, at most 50.' })
  changes!: PolicyChange[];

  @Field(() => [PolicyRuleHits], { description: 'The rules of the draft that matched a call, and its default.' })
  rules!: PolicyRuleHits[];
}

@ArgsType()
export class DryRunPolicyArgs {
  @Field(() => Json, { description: 'The draft, as `saveApprovalPolicy` takes it.' })
  policy!: unknown;

  @Field(() => Int, { nullable: true, description: 'How many of the last calls: 1 to 10,000; 1,000 by default.' })
  lastCalls?: number | null;
}
