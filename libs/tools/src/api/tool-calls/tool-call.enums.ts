import { registerEnumType } from '@nestjs/graphql';

import { ToolCallStatusEnum as EventToolCallStatusEnum } from '#jobs/api';

import type { ToolCallOrder } from '../../history/tool-call-filter.js';
import type { StatsBucket, StatsDimension } from '../../history/tool-call-stats.js';
import type { ToolCallStatus } from '../../tool-call.js';

/** The enum of job events, by its type: a status without a name does not compile. */
export const ToolCallStatusEnum: Record<Uppercase<ToolCallStatus>, ToolCallStatus> = EventToolCallStatusEnum;

/** GraphQL's names of what a list of calls goes by. */
export const ToolCallOrderFieldEnum = { TIME: 'time', DURATION: 'duration' } as const satisfies Record<
  Uppercase<ToolCallOrder['by']>,
  ToolCallOrder['by']
>;

registerEnumType(ToolCallOrderFieldEnum, {
  name: 'ToolCallOrderField',
  description: 'The order of a list of calls.',
  valuesMap: {
    TIME: { description: 'When the model requested it.' },
    DURATION: { description: 'How long the tool ran. The list contains only calls that ran.' },
  },
});

/** GraphQL's names of directions. */
export const OrderDirectionEnum = { ASC: 'asc', DESC: 'desc' } as const;

registerEnumType(OrderDirectionEnum, {
  name: 'OrderDirection',
  description: 'The direction of a list.',
  valuesMap: {
    ASC: { description: 'The oldest, or the shortest, first.' },
    DESC: { description: 'The newest, or the longest, first.' },
  },
});

/** GraphQL's names of the fields by which calls are filtered. */
export const ToolCallDimensionEnum = {
  TOOL: 'tool',
  USER: 'user',
  STATUS: 'status',
  TIME: 'time',
} as const satisfies Record<Uppercase<StatsDimension>, StatsDimension>;

registerEnumType(ToolCallDimensionEnum, {
  name: 'ToolCallDimension',
  description: 'A dimension to group calls by.',
  valuesMap: {
    TOOL: { description: 'Their tool.' },
    USER: { description: 'The user who started the job.' },
    STATUS: { description: 'Their status.' },
    TIME: { description: "The interval of the model's request." },
  },
});

/** GraphQL's names of pieces of time. */
export const TimeBucketEnum = {
  MINUTE: 'minute',
  HOUR: 'hour',
  DAY: 'day',
  WEEK: 'week',
} as const satisfies Record<Uppercase<StatsBucket>, StatsBucket>;

registerEnumType(TimeBucketEnum, {
  name: 'TimeBucket',
  description: 'Intervals in UTC. Weeks begin on Monday.',
  valuesMap: {
    MINUTE: { description: 'Minutes.' },
    HOUR: { description: 'Hours.' },
    DAY: { description: 'Days.' },
    WEEK: { description: 'Weeks.' },
  },
});
