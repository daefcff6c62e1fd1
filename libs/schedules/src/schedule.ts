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

/** What a schedule starts. Its slots and their jobs are those of one target, so the kind and the workflow cannot be changed. */
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
  /** Why it was disabled by itself; null: it was not. */
  readonly stoppedBecause: StopReason | null;
  /** The first slot that has not been processed; null: disabled. */
  readonly nextSlotAt: number | null;
  readonly createdBy: string;
  /** The principal that saved it last; of a workflow, also the one that enabled or disabled it. It starts jobs as long as this principal may manage workflows, or start the chat. */
  readonly savedBy: string;
  /** The user behind `savedBy`. Null: saved by an older build. */
  readonly userId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * `right_lost` the member responsible for it left the workspace or may not start its jobs any more, or the key was revoked;
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
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
}
