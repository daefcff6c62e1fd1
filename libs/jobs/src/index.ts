export { type ActionJob, ActionRowsRepository } from './actions/action-rows.repository.js';
export { actionKinds, EventActions } from './events/event-actions.repository.js';
export { LockedJob, JobUpdater } from './update/job-updater.js';
export { JobStopper, type AdmissionAbort, type StoppedTree, type StopState } from './cancel/job-stopper.js';
export { JobQueue, subJobsDue } from './queue/job-queue.js';
export { type CommitPart, mismatchedPart, type PartRow, partRow } from './events/commit-part.js';
export { EventFeed, type FeedItem, type FollowOptions } from './feed/event-feed.js';
export {
  deltaTypes,
  isDelta,
  type JobEvent,
  type JobEventBodies,
  type JobEventType,
  type NewJobEvent,
  type NodeRunStatus,
  statusAfter,
  type TakenRoute,
  type ToolCallItem,
  type Usage,
} from './events/job-event.js';
export { jobEventMeanings } from './events/job-event-meanings.js';
export {
  decidableBy,
  type DecidableBy,
  type ExpireAction,
  type Interrupt,
  type InterruptKind,
  interruptKinds,
  type InterruptStatus,
  interruptStatuses,
  type NewInterrupt,
  type Outcome,
  listedKinds,
  requestKinds,
  retriedKinds,
} from './interrupt.js';
export {
  type DueHandler,
  type LockedInterrupt,
  InterruptSettler,
  type Settlement as InterruptSettlement,
} from './resolve/interrupt-settler.js';
export { InterruptTimers } from './resolve/interrupt-timers.js';
export { alreadyAnswered, requestExpired, requestNotFound } from './interrupts/interrupts.errors.js';
export {
  type DeciderRights,
  type SubJobInterrupt,
  type InterruptFilter,
  InterruptsRepository,
} from './interrupts/interrupts.repository.js';
export { humanWait } from './resolve/refused-waits.repository.js';
export { RefusedWaits } from './resolve/refused-waits.js';
export {
  insertInterrupt,
  interruptDue,
  interruptOpened,
  openInterruptRow,
} from './interrupts/new-interrupt.repository.js';
export { isJobKind, type Job, type JobKind, jobKinds, type JobRef } from './job.js';
export { type JobLabels, jobLabels, toJobLabels } from './job-labels.js';
export { isJobStatus, isTerminal, jobMoves, type JobStatus, jobStatuses, terminalStatuses } from './job.lifecycle.js';
export { type JobOwner, JobOwnersRepository } from './job-owners.repository.js';
export { type RowKind, RowWorkspacesRepository } from './row-workspaces.repository.js';
export { JobTelemetry } from './job.telemetry.js';
export { voidRestoredLeases } from './run/restored-jobs.repository.js';
export {
  CancelRequested,
  idempotencyKeyMismatch,
  jobNotFinished,
  jobNotFound,
  LeaseLost,
  StartConditionFailed,
  threadNotFound,
} from './jobs.errors.js';
export { JobsModule } from './jobs.module.js';
export { type JobFilter, JobsRepository, type KeysetPage } from './jobs.repository.js';
export { DelayedJobs } from './thread-queue/delayed-jobs.js';
export { TurnMessages, type Turn, type TurnStarter } from './thread-queue/turn-messages.js';
export {
  type Notification,
  type NotificationFilter,
  type NotificationType,
  notificationTypes,
} from './notifications/notification.js';
export { notificationNotFound } from './notifications/notifications.errors.js';
export {
  type JobNotification,
  NotificationsRepository,
  type UnreadNotification,
} from './notifications/notifications.repository.js';
export { Draining, endsJob, endsWith, JobCancelled } from './run/end-reason.js';
export { type ExpiredRows, Retention, type RetentionResult } from './retention/retention.js';
export type { JobHandler, JobOutcome } from './run/job-handler.js';
export { JobHandlers } from './run/job-handlers.js';
export { JobRun } from './run/job-run.js';
export type { ModelStream, RunActivity } from './run/run-activity.js';
export type { TextPlace } from './text/text-place.js';
export type { RunWrite } from './run/pending-write.js';
export type { ClaimedJob } from './run/lease.repository.js';
export { mayHaveRun, stoppedCall, unknownOutcome } from './unknown-outcome.js';
export { Worker } from './run/worker.js';
export type { ShownTexts } from './text/shown-texts.js';
export { ShownTextsRepository } from './text/shown-texts.repository.js';
export {
  type JobSnapshot,
  type SnapshotCall,
  SnapshotRepository,
  type SnapshotRound,
} from './snapshot/snapshot.repository.js';
export { type NewRound, roundRow } from './rounds/round.part.js';
export { subJobLimits } from './start/admit.js';
export { type StartFilter, StartFilters } from './start/start-filters.js';
export { JobStarter } from './start/job-starter.js';
export {
  type Idempotency,
  type ParentCall,
  type StartedJob,
  type StartRequest,
  type WhenBusy,
  type WhenFull,
  whenBusyChoices,
} from './start/start-request.js';
export { BackgroundJobs } from './foreground/background-jobs.js';
export { ForegroundWatch } from './foreground/foreground-watch.js';
