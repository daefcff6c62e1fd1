import { registerEnumType } from '@nestjs/graphql';

import type { MissedPolicy, SlotStatus, StopReason } from '#workflows';

/** What becomes of slots that nobody was there for. */
export const MissedSlotsEnum = { SKIP: 'skip', ONCE: 'once', ALL: 'all' } as const satisfies Record<
  Uppercase<MissedPolicy>,
  MissedPolicy
>;

registerEnumType(MissedSlotsEnum, {
  name: 'MissedSlots',
  description: 'What becomes of slots that nobody was there for, for a minute or more.',
  valuesMap: {
    SKIP: { description: 'They start nothing.' },
    ONCE: { description: 'The last one starts a job, for all of them.' },
    ALL: { description: 'Each starts a job, of the last 24.' },
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
  description: 'What became of a slot.',
  valuesMap: {
    DUE: { description: 'Its job is about to be started; `error` tells what it waits for, if it does.' },
    STARTED: { description: 'It started its job.' },
    SKIPPED: { description: 'It was missed, or the schedule was disabled before its job was started.' },
    FAILED: { description: 'No job could be started; `error` tells why.' },
  },
});

/** Why a schedule was disabled by itself. */
export const ScheduleStopEnum = {
  RIGHT_LOST: 'right_lost',
  TIME_ZONE_UNKNOWN: 'time_zone_unknown',
} as const satisfies Record<Uppercase<StopReason>, StopReason>;

registerEnumType(ScheduleStopEnum, {
  name: 'ScheduleStop',
  description: 'Why a schedule was disabled by itself. Enabling it again makes whoever does so stand for it.',
  valuesMap: {
    RIGHT_LOST: { description: 'Whoever stood for it is no member any more, or may not manage workflows.' },
    TIME_ZONE_UNKNOWN: { description: 'The time zone database of today does not have its zone.' },
  },
});
