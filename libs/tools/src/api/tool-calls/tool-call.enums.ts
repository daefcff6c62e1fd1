import { ToolCallStatusEnum as EventToolCallStatusEnum } from '#jobs/api';
import { defineEnum } from '#platform/api';

import type { ToolCallOrder } from '../../history/tool-call-filter.js';
import type { StatsBucket, StatsDimension } from '../../history/tool-call-stats.js';
import type { ToolCallStatus } from '../../tool-call.js';

/** The enum of job events. Its type makes a status without a GraphQL name a compile error. */
export const ToolCallStatusEnum: Record<Uppercase<ToolCallStatus>, ToolCallStatus> = EventToolCallStatusEnum;

/** The GraphQL names of the orders of a list of calls. */
export const ToolCallOrderFieldEnum = defineEnum('ToolCallOrderField', 'The order of a list of calls.', {
  TIME: ['time', 'When the model requested it.'],
  DURATION: ['duration', 'How long the tool ran. The list contains only calls that ran.'],
}) satisfies Record<Uppercase<ToolCallOrder['by']>, ToolCallOrder['by']>;

/** The GraphQL names of directions. */
export const OrderDirectionEnum = defineEnum('OrderDirection', 'The direction of a list.', {
  ASC: ['asc', 'The oldest, or the shortest, first.'],
  DESC: ['desc', 'The newest, or the longest, first.'],
});

/** The GraphQL names of the dimensions to group calls by. */
export const ToolCallDimensionEnum = defineEnum('ToolCallDimension', 'A dimension to group calls by.', {
  TOOL: ['tool', 'Their tool.'],
  USER: ['user', 'The user who started the job.'],
  STATUS: ['status', 'Their status.'],
  TIME: ['time', "The interval of the model's request."],
}) satisfies Record<Uppercase<StatsDimension>, StatsDimension>;

/** The GraphQL names of intervals. */
export const TimeBucketEnum = defineEnum('TimeBucket', 'Intervals in UTC. Weeks begin on Monday.', {
  MINUTE: ['minute', 'Minutes.'],
  HOUR: ['hour', 'Hours.'],
  DAY: ['day', 'Days.'],
  WEEK: ['week', 'Weeks.'],
}) satisfies Record<Uppercase<StatsBucket>, StatsBucket>;
