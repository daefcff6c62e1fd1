import type { StartChat } from '#chat';

import type { MissedPolicy } from './missed-slots.js';

/** The settings of a schedule. */
export interface ScheduleTerms {
  /** Five fields, as `assertCron` accepts them. */
  readonly cron: string;
  /** A name of the time zone database. */
  readonly timeZone: string;
  readonly missed: MissedPolicy;
  readonly enabled: boolean;
}

/** The chat that a schedule starts. */
export type ScheduledChat = Pick<
  StartChat,
  'threadRef' | 'agent' | 'model' | 'messages' | 'tools' | 'toolApproval' | 'parameters'
>;

/** The target of a schedule. The slots and jobs of a schedule refer to one target, so its kind and its workflow cannot be changed. */
export type ScheduleTarget =
  /** `prompt`: the input of the start node. */
  | { readonly workflowId: string; readonly prompt: string; readonly chat: null }
  | { readonly workflowId: null; readonly prompt: ''; readonly chat: ScheduledChat };

export type ScheduleKind = 'workflow' | 'chat';

/** A schedule. Instants in ms since the epoch. */
export type Schedule = StoredSchedule & ScheduleTarget;

interface StoredSchedule extends ScheduleTerms {
  readonly id: string;
  /** Unique in the workspace; null: none. */
  readonly name: string | null;
  /** Why the server disabled it; null: it did not. */
  readonly stoppedBecause: StopReason | null;
  /** The first slot that has not been planned; null: disabled. */
  readonly nextSlotAt: number | null;
  readonly createdBy: string;
  /**
   * The principal that last saved it; for a workflow, also the one that last enabled or disabled it. The schedule starts jobs as long as this
   * principal may manage workflows, or start the chat.
   */
  readonly savedBy: string;
  /** The user behind `savedBy`. Null: saved by an older build. */
  readonly userId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * `right_lost`: the responsible member left the workspace or may no longer start its jobs, or the key was revoked. `time_zone_unknown`: the
 * current time zone database does not have its zone.
 */
export type StopReason = 'right_lost' | 'time_zone_unknown';

/** `due`: a job is about to start. `skipped`: no worker ran at the time, or the schedule was disabled. */
export type SlotStatus = 'due' | 'started' | 'skipped' | 'failed';

/** One slot of a schedule, and its result. */
export interface ScheduledSlot {
  readonly slotAt: number;
  readonly status: SlotStatus;
  /** The job of a started slot. The job may have been deleted since then. */
  readonly jobId: string | null;
  /** Why it failed, or has not started yet. */
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
}
