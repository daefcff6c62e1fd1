import { ToolCallStatusEnum as EventToolCallStatusEnum } from '#jobs/api';
import { defineEnum } from '#platform/api';

import type { ToolCallOrder } from '../../history/tool-call-filter.js';
import type { StatsBucket, StatsDimension } from '../../history/tool-call-stats.js';
import type { ToolCallStatus } from '../../tool-call.js';

/** The enum of job events, by its type: a status without a name does not compile. */
export const ToolCallStatusEnum: Record<Uppercase<ToolCallStatus>, ToolCallStatus> = EventToolCallStatusEnum;

/** GraphQL's names of what a list of calls goes by. */
export const ToolCallOrderFieldEnum = defineEnum('ToolCallOrderField', 'The order of a list of calls.', {
  TIME: ['time', 'When the model requested it.'],
  DURATION: ['duration', 'How long the tool ran. The list contains only calls that ran.'],
}) satisfies Record<Uppercase<ToolCallOrder['by']>, ToolCallOrder['by']>;

/** GraphQL's names of directions. */
export const OrderDirectionEnum = defineEnum('OrderDirection', 'The direction of a list.', {
  ASC: ['asc', 'The oldest, or the shortest, first.'],
  DESC: ['desc', 'The newest, or the longest, first.'],
});

/** GraphQL's names of the fields by which calls are filtered. */
export const ToolCallDimensionEnum = defineEnum('ToolCallDimension', 'A dimension to group calls by.', {
  TOOL: ['tool', 'Their tool.'],
  USER: ['user', 'The user who started the job.'],
  STATUS: ['status', 'Their status.'],
  TIME: ['time', "The interval of the model's request."],
}) satisfies Record<Uppercase<StatsDimension>, StatsDimension>;

/** GraphQL's names of pieces of time. */
export const TimeBucketEnum = defineEnum('TimeBucket', 'Intervals in UTC. Weeks begin on Monday.', {
  MINUTE: ['minute', 'Minutes.'],
  HOUR: ['hour', 'Hours.'],
  DAY: ['day', 'Days.'],
  WEEK: ['week', 'Weeks.'],
}) satisfies Record<Uppercase<StatsBucket>, StatsBucket>;
