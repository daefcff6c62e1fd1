import { Field, Float, ID, Int, ObjectType } from '@nestjs/graphql';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { ToolCallStatusEnum } from '../jobs/job.enums.js';

/** Calls that have something in common. */
@ObjectType({ description: 'Calls that have something in common, counted. What they were not grouped by is null.' })
export class ToolCallStatsGroup {
  @Field(() => String, { nullable: true, description: 'Their tool.' })
  tool!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user whose jobs asked; null also for jobs of nobody.' })
  user!: string | null;

  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'Where they stand.' })
  status!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When their piece of time begins.' })
  time!: number | null;

  @Field(() => Int, { description: 'How many they are.' })
  count!: number;

  @Field(() => Int, { description: 'How many of them ended as ERROR or TIMED_OUT.' })
  errorCount!: number;

  @Field(() => Float, { nullable: true, description: 'Those, of all that have ended: 0 to 1; null: none has ended.' })
  errorRate!: number | null;

  @Field(() => Int, { nullable: true, description: 'Half of those that ran took no longer than this, in ms.' })
  p50Ms!: number | null;

  @Field(() => Int, { nullable: true, description: '95 % of those that ran took no longer than this, in ms.' })
  p95Ms!: number | null;

  @Field(() => Int, { nullable: true, description: '99 % of those that ran took no longer than this, in ms.' })
  p99Ms!: number | null;

  @Field(() => Float, { description: 'UTF-8 bytes of all their results, before any cut.' })
  resultBytes!: number;
}

/** Statistics of calls. */
@ObjectType({ description: 'Statistics of calls.' })
export class ToolCallStats {
  @Field(() => [ToolCallStatsGroup], { description: 'By time, then the largest first; at most 1,000.' })
  groups!: ToolCallStatsGroup[];

  @Field(() => Boolean, { description: 'Whether groups were left out: there are more than 1,000.' })
  isCut!: boolean;

  @Field(() => Boolean, {
    description: 'Whether calls were left out: only the newest 200,000 were looked at, down to `since`.',
  })
  isPartial!: boolean;

  @Field(() => DateTime, { nullable: true, description: 'The oldest call that was looked at; null: there was none.' })
  since!: number | null;
}
