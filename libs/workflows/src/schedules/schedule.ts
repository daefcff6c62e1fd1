import type { MissedPolicy } from './missed-slots.js';

/** The settings of a schedule. */
export interface ScheduleTerms {
  /** Five fields, as `assertCron` accepts them. */
  readonly cron: string;
  /** A name of the time zone database. */
  readonly timeZone: string;
  readonly missed: MissedPolicy;
  /** The prompt of each job: the input of the start node. */
  readonly prompt: string;
  readonly enabled: boolean;
}

/** A schedule of a workflow. Instants in ms since the epoch. */
export interface WorkflowSchedule extends ScheduleTerms {
  readonly id: string;
  /** Unique in the workspace; null: none. */
  readonly name: string | null;
  readonly workflowId: string;
  /** Why it was disabled by itself; null: it was not. */
  readonly stoppedBecause: StopReason | null;
  /** The first slot that has not been processed; null: disabled. */
  readonly nextSlotAt: number | null;
  readonly createdBy: string;
  /** Who saved or enabled it last. It starts jobs as long as they may manage workflows. */
  readonly savedBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * `right_lost` the member responsible for it left the workspace or may not manage workflows, or the key was revoked;
 * `time_zone_unknown` today's time zone database does not have it.
 */
export type StopReason = 'right_lost' | 'time_zone_unknown';

/** `due` a job is about to be started; `skipped` no worker ran at the time, or the schedule was disabled. */
export type SlotStatus = 'due' | 'started' | 'skipped' | 'failed';

/** What became of one slot. */
export interface ScheduledSlot {
  readonly slotAt: number;
  readonly status: SlotStatus;
  /** Of a started one. The job may have been removed since. */
  readonly jobId: string | null;
  /** Why it failed, or is not started yet. */
  readonly error: { readonly code: string; readonly message: string } | null;
}
