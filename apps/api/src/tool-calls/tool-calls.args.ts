import { ArgsType, Field, ID, InputType, Int } from '@nestjs/graphql';

import type { StatsBucket, StatsDimension, ToolCallOrder, ToolCallStatus, ToolSort } from '#tools';

import { PageArgs } from '../graphql/connections/page.args.js';
import { DateTimeFilter, IdFilter } from '../graphql/filters/filter.input.js';
import { ToolCallStatusEnum } from '../jobs/job.enums.js';
import { ToolSortEnum } from '../tools/tool.model.js';
import {
  OrderDirectionEnum,
  TimeBucketEnum,
  ToolCallDimensionEnum,
  ToolCallOrderFieldEnum,
} from './tool-call.enums.js';

@InputType({ description: 'Compares where a call stands.' })
class ToolCallStatusFilter {
  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'Is this one.' })
  eq?: ToolCallStatus | null;

  @Field(() => [ToolCallStatusEnum], { nullable: true, description: 'Is one of these.' })
  in?: ToolCallStatus[] | null;
}

@InputType({ description: 'Compares what answers a call.' })
class ToolSortFilter {
  @Field(() => ToolSortEnum, { nullable: true, description: 'Is this one.' })
  eq?: ToolSort | null;

  @Field(() => [ToolSortEnum], { nullable: true, description: 'Is one of these.' })
  in?: ToolSort[] | null;
}

@InputType({ description: 'Compares why a call has no result; all that is given must hold.' })
class ToolCallErrorFilter {
  @Field(() => String, {
    nullable: true,
    description: 'Where it failed: `validation`, `approval`, `execution` or `timeout`.',
  })
  phase?: string | null;

  @Field(() => String, { nullable: true, description: 'Its code, where the tool gave one.' })
  code?: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Words of its message: all of them, whole, in any order and case, among the first 1,000 characters. At most 200 characters.',
  })
  text?: string | null;
}

@InputType({ description: 'Compares a length of time in ms.' })
class DurationFilter {
  @Field(() => Int, { nullable: true, description: 'So long or longer.' })
  gte?: number | null;

  @Field(() => Int, { nullable: true, description: 'Shorter than this.' })
  lt?: number | null;
}

/** Which calls. */
@InputType({ description: 'Which calls; every member narrows it.' })
export class ToolCallFilterInput {
  @Field(() => IdFilter, { nullable: true, description: 'By the user whose job asked.' })
  createdBy?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By thread (our id).' })
  threadId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By job.' })
  jobId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By workflow.' })
  workflowId?: IdFilter | null;

  @Field(() => String, {
    nullable: true,
    description: 'By tool: a name, or a pattern in which `*` stands for any run of characters and `?` for one.',
  })
  tool?: string | null;

  @Field(() => ToolSortFilter, { nullable: true, description: 'By what answers.' })
  runtime?: ToolSortFilter | null;

  @Field(() => ToolCallStatusFilter, { nullable: true, description: 'By status.' })
  status?: ToolCallStatusFilter | null;

  @Field(() => ToolCallErrorFilter, { nullable: true, description: 'By what went wrong.' })
  error?: ToolCallErrorFilter | null;

  @Field(() => ID, {
    nullable: true,
    description: 'By who decided about it: the id of a user, or a principal such as `user:<id>` or `key:<id>`.',
  })
  approver?: string | null;

  @Field(() => DateTimeFilter, { nullable: true, description: 'By the instant at which the model had asked.' })
  createdAt?: DateTimeFilter | null;

  @Field(() => DurationFilter, { nullable: true, description: 'By how long the tool ran.' })
  durationMs?: DurationFilter | null;

  @Field(() => [String], {
    nullable: true,
    description:
      'By arguments, at most 3 conditions that must all hold: a path, `=`, and a JSON text, number, boolean or null, such as `$.to = "x"` or `$.items[0].id = 7`. As proposed or as approved; the first 32 values of a call can be found.',
  })
  argument?: string[] | null;
}

/** The order of a list of calls. */
@InputType({ description: 'The order of a list of calls.' })
export class ToolCallOrderInput {
  @Field(() => ToolCallOrderFieldEnum, { description: 'What it goes by.' })
  field!: ToolCallOrder['by'];

  @Field(() => OrderDirectionEnum, { defaultValue: 'desc', description: 'In which direction.' })
  direction!: ToolCallOrder['direction'];
}

/** Arguments of `toolCalls`. */
@ArgsType()
export class ToolCallsArgs extends PageArgs {
  @Field(() => ToolCallFilterInput, { nullable: true, description: 'Which calls; absent: all that one may see.' })
  filter?: ToolCallFilterInput | null;

  @Field(() => ToolCallOrderInput, { nullable: true, description: 'Their order; absent: the newest first.' })
  orderBy?: ToolCallOrderInput | null;
}

/** Arguments of `toolCallStats`. */
@ArgsType()
export class ToolCallStatsArgs {
  @Field(() => ToolCallFilterInput, {
    nullable: true,
    description: 'Which calls. Without `createdAt.gte`: those of the last 24 hours.',
  })
  filter?: ToolCallFilterInput | null;

  @Field(() => [ToolCallDimensionEnum], {
    defaultValue: ['tool'],
    description: 'What they are grouped by, at most 2; an empty list gives one group of all.',
  })
  groupBy!: StatsDimension[];

  @Field(() => TimeBucketEnum, { defaultValue: 'hour', description: 'The pieces of time, for groups by `TIME`.' })
  bucket!: StatsBucket;
}

/** The most characters of a result that are sent at once. */
export const LARGEST_PART = 262_144;

/** Arguments of `ToolCall.content`. */
@ArgsType()
export class ToolCallContentArgs {
  @Field(() => Int, { defaultValue: 0, description: 'Where the part of the result begins, in characters.' })
  resultOffset!: number;

  @Field(() => Int, { defaultValue: 32_768, description: 'How many characters of the result: at most 262,144.' })
  resultLength!: number;
}
