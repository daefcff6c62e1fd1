import { ArgsType, Field, ID, InputType, Int } from '@nestjs/graphql';

import { DateTimeFilter, IdFilter, PageArgs } from '#platform/api';

import type { ToolCallOrder } from '../../history/tool-call-filter.js';
import type { StatsBucket, StatsDimension } from '../../history/tool-call-stats.js';
import type { ToolSort } from '../../tool.js';
import type { ToolCallStatus } from '../../tool-call.js';
import { ToolSortEnum } from '../tool.model.js';
import {
  OrderDirectionEnum,
  TimeBucketEnum,
  ToolCallDimensionEnum,
  ToolCallOrderFieldEnum,
  ToolCallStatusEnum,
} from './tool-call.enums.js';

@InputType({ description: 'Compares the status of a call.' })
class ToolCallStatusFilter {
  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'Equals this status.' })
  eq?: ToolCallStatus | null;

  @Field(() => [ToolCallStatusEnum], { nullable: true, description: 'Is one of these.' })
  in?: ToolCallStatus[] | null;
}

@InputType({ description: 'Compares the kind of tool that runs a call.' })
class ToolSortFilter {
  @Field(() => ToolSortEnum, { nullable: true, description: 'Equals this kind of tool.' })
  eq?: ToolSort | null;

  @Field(() => [ToolSortEnum], { nullable: true, description: 'Is one of these.' })
  in?: ToolSort[] | null;
}

@InputType({ description: 'Compares the error of a call. All given fields must match.' })
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
      'Whole words of the message, in any order and case, within its first 1,000 characters. All must match. At most 200 characters.',
  })
  text?: string | null;
}

@InputType({ description: 'Compares a length of time in ms.' })
class DurationFilter {
  @Field(() => Int, { nullable: true, description: 'At least this long.' })
  gte?: number | null;

  @Field(() => Int, { nullable: true, description: 'Shorter than this.' })
  lt?: number | null;
}

@InputType({ description: 'Filters for calls. All given fields must match.' })
export class ToolCallFilterInput {
  @Field(() => IdFilter, { nullable: true, description: 'By the user who started the job.' })
  createdBy?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By thread (server id).' })
  threadId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By job.' })
  jobId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By workflow.' })
  workflowId?: IdFilter | null;

  @Field(() => String, {
    nullable: true,
    description: 'By tool: a name, or a pattern with `*` for any characters and `?` for one.',
  })
  tool?: string | null;

  @Field(() => ToolSortFilter, { nullable: true, description: 'By what runs the call.' })
  runtime?: ToolSortFilter | null;

  @Field(() => ToolCallStatusFilter, { nullable: true, description: 'By status.' })
  status?: ToolCallStatusFilter | null;

  @Field(() => ToolCallErrorFilter, { nullable: true, description: 'By error.' })
  error?: ToolCallErrorFilter | null;

  @Field(() => ID, {
    nullable: true,
    description: 'By who decided: the id of a user, or a principal such as `user:<id>` or `key:<id>`.',
  })
  approver?: string | null;

  @Field(() => DateTimeFilter, { nullable: true, description: "By the time of the model's request." })
  createdAt?: DateTimeFilter | null;

  @Field(() => DurationFilter, { nullable: true, description: 'By how long the tool ran.' })
  durationMs?: DurationFilter | null;

  @Field(() => [String], {
    nullable: true,
    description:
      'By arguments: at most 3 conditions, all of which must match. Each is a path, `=`, and a JSON text, number, boolean or null, such as `$.to = "x"` or `$.items[0].id = 7`. Matches proposed and approved arguments; only the first 32 values of a call are indexed.',
  })
  argument?: string[] | null;
}

/** The order of a list of calls. */
@InputType({ description: 'The order of a list of calls.' })
export class ToolCallOrderInput {
  @Field(() => ToolCallOrderFieldEnum, { description: 'The field to order by.' })
  field!: ToolCallOrder['by'];

  @Field(() => OrderDirectionEnum, { defaultValue: 'desc', description: 'The direction.' })
  direction!: ToolCallOrder['direction'];
}

/** Arguments of `toolCalls`. */
@ArgsType()
export class ToolCallsArgs extends PageArgs {
  @Field(() => ToolCallFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all calls that the caller may see.',
  })
  filter?: ToolCallFilterInput | null;

  @Field(() => ToolCallOrderInput, { nullable: true, description: 'The order. Absent: newest first.' })
  orderBy?: ToolCallOrderInput | null;
}

/** Arguments of `toolCallStats`. */
@ArgsType()
export class ToolCallStatsArgs {
  @Field(() => ToolCallFilterInput, {
    nullable: true,
    description: 'Filters. Without `createdAt.gte`: the last 24 hours.',
  })
  filter?: ToolCallFilterInput | null;

  @Field(() => [ToolCallDimensionEnum], {
    defaultValue: ['tool'],
    description: 'The dimensions to group by, at most 2. An empty list gives one group.',
  })
  groupBy!: StatsDimension[];

  @Field(() => TimeBucketEnum, { defaultValue: 'hour', description: 'The interval for groups by `TIME`.' })
  bucket!: StatsBucket;
}

/** Maximum number of characters of a result in one response. */
export const LARGEST_PART = 262_144;

/** Arguments of `ToolCall.content`. */
@ArgsType()
export class ToolCallContentArgs {
  @Field(() => Int, { defaultValue: 0, description: 'The offset in the result, in characters.' })
  resultOffset!: number;

  @Field(() => Int, {
    defaultValue: 32_768,
    description: 'Maximum number of characters of the result: at most 262,144.',
  })
  resultLength!: number;
}
