import { defineEnum } from '#platform/api';

import type { MissedPolicy } from '../missed-slots.js';
import type { SlotStatus, StopReason } from '../schedule.js';

export const MissedSlotsEnum = defineEnum(
  'MissedSlots',
  'What happens to scheduled times that were missed by a minute or more.',
  {
    SKIP: ['skip', 'Missed scheduled times start no job.'],
    ONCE: ['once', 'The latest missed scheduled time starts one job.'],
    ALL: ['all', 'Each of the last 24 missed scheduled times starts a job.'],
  },
) satisfies Record<Uppercase<MissedPolicy>, MissedPolicy>;

/** The GraphQL names of the statuses of a scheduled time. */
export const SlotStatusEnum = defineEnum('ScheduledSlotStatus', 'The status of a scheduled time.', {
  DUE: ['due', 'Its job is about to start. If it waits, `error` has the reason.'],
  STARTED: ['started', 'It started its job.'],
  SKIPPED: ['skipped', 'It was missed, or the schedule was disabled before its job was started.'],
  FAILED: ['failed', 'No job could be started. `error` has the reason.'],
}) satisfies Record<Uppercase<SlotStatus>, SlotStatus>;

/** The GraphQL names of the reasons why the server disabled a schedule. */
export const ScheduleStopEnum = defineEnum('ScheduleStop', 'Why the server disabled a schedule.', {
  RIGHT_LOST: [
    'right_lost',
    'The member or API key in `savedBy` may no longer manage workflows or start the chat. A principal with this right can enable a workflow schedule again, or save a chat schedule again.',
  ],
  TIME_ZONE_UNKNOWN: [
    'time_zone_unknown',
    'The time zone database no longer has its zone. Save the schedule with another zone.',
  ],
}) satisfies Record<Uppercase<StopReason>, StopReason>;
