import { Field, Float, ID, Int, ObjectType } from '@nestjs/graphql';

import { DateTime } from '#platform/api';

import { ToolCallStatusEnum } from './tool-call.enums.js';

@ObjectType({ description: 'A group of calls. Dimensions that were not requested are null.' })
export class ToolCallStatsGroup {
  @Field(() => String, { nullable: true, description: 'Their tool.' })
  tool!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who started the jobs. Also null for jobs without a user.' })
  user!: string | null;

  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'Their status.' })
  status!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'The start of the interval.' })
  time!: number | null;

  @Field(() => Int, { description: 'The number of calls.' })
  count!: number;

  @Field(() => Int, { description: 'How many of them ended as ERROR or TIMED_OUT.' })
  errorCount!: number;

  @Field(() => Float, {
    nullable: true,
    description: 'The share of errors among ended calls: 0 to 1. Null: no call ended.',
  })
  errorRate!: number | null;

  @Field(() => Int, { nullable: true, description: 'Median duration, in ms.' })
  p50Ms!: number | null;

  @Field(() => Int, { nullable: true, description: '95th percentile of the duration, in ms.' })
  p95Ms!: number | null;

  @Field(() => Int, { nullable: true, description: '99th percentile of the duration, in ms.' })
  p99Ms!: number | null;

  @Field(() => Float, { description: 'Total size of their results before truncation, in UTF-8 bytes.' })
  resultBytes!: number;
}

/** Statistics of calls. */
@ObjectType({ description: 'Statistics of calls.' })
export class ToolCallStats {
  @Field(() => [ToolCallStatsGroup], { description: 'The groups by time, then largest first, at most 1,000.' })
  groups!: ToolCallStatsGroup[];

  @Field(() => Boolean, { description: 'Whether groups were left out because there are more than 1,000.' })
  isCut!: boolean;

  @Field(() => Boolean, {
    description: 'Whether calls were left out: only the newest 200,000, down to `since`, were examined.',
  })
  isPartial!: boolean;

  @Field(() => DateTime, { nullable: true, description: 'The time of the oldest examined call. Null: none.' })
  since!: number | null;
}
