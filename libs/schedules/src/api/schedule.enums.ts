import { registerEnumType } from '@nestjs/graphql';

import type { MissedPolicy } from '../missed-slots.js';
import type { SlotStatus, StopReason } from '../schedule.js';

/** What happens to slots that passed while no process was running. */
export const MissedSlotsEnum = { SKIP: 'skip', ONCE: 'once', ALL: 'all' } as const satisfies Record<
  Uppercase<MissedPolicy>,
  MissedPolicy
>;

registerEnumType(MissedSlotsEnum, {
  name: 'MissedSlots',
  description: 'What happens to slots that were missed by a minute or more.',
  valuesMap: {
    SKIP: { description: 'Missed slots start no job.' },
    ONCE: { description: 'The latest missed slot starts one job.' },
    ALL: { description: 'Each of the last 24 missed slots starts a job.' },
  },
});

/** What became of a slot. */
export const SlotStatusEnum = {
  DUE: 'due',
  STARTED: 'started',
  SKIPPED: 'skipped',
  FAILED: 'failed',
} as const satisfies Record<Uppercase<SlotStatus>, SlotStatus>;

registerEnumType(SlotStatusEnum, {
  name: 'ScheduledSlotStatus',
  description: 'The status of a slot.',
  valuesMap: {
    DUE: { description: 'Its job is about to start. If it waits, `error` has the reason.' },
    STARTED: { description: 'It started its job.' },
    SKIPPED: { description: 'It was missed, or the schedule was disabled before its job was started.' },
    FAILED: { description: 'No job could be started. `error` has the reason.' },
  },
});

/** Why a schedule was disabled by itself. */
export const ScheduleStopEnum = {
  RIGHT_LOST: 'right_lost',
  TIME_ZONE_UNKNOWN: 'time_zone_unknown',
} as const satisfies Record<Uppercase<StopReason>, StopReason>;

registerEnumType(ScheduleStopEnum, {
  name: 'ScheduleStop',
  description:
    'Why the server disabled a schedule. A workflow schedule then acts as the member who enables it again; a chat schedule must be saved again.',
  valuesMap: {
    RIGHT_LOST: { description: 'The member left, or may no longer manage workflows or start the chat.' },
    TIME_ZONE_UNKNOWN: { description: 'The time zone database no longer has its zone.' },
  },
});
