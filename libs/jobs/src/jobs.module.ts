import { Inject, Injectable, Module } from '@nestjs/common';

import { Config, Metrics } from '#platform';

import { ActionRowsRepository } from './actions/action-rows.repository.js';
import { AdmissionRepository } from './cancel/admission.repository.js';
import { CancelRepository } from './cancel/cancel.repository.js';
import { JobStopper } from './cancel/job-stopper.js';
import { FreedCapacity } from './capacity/freed-capacity.js';
import { FreedCapacityRepository } from './capacity/freed-capacity.repository.js';
import { EventActions } from './events/event-actions.repository.js';
import { EventLog } from './events/event-log.js';
import { EventLogRepository } from './events/event-log.repository.js';
import { LocalEvents } from './events/local-events.js';
import { EventFeed } from './feed/event-feed.js';
import { FeedRepository } from './feed/feed.repository.js';
import { TailReader } from './feed/tail-reader.js';
import { BackgroundJobs } from './foreground/background-jobs.js';
import { ForegroundJobsRepository } from './foreground/foreground-jobs.repository.js';
import { ForegroundWatch } from './foreground/foreground-watch.js';
import { InterruptsRepository } from './interrupts/interrupts.repository.js';
import { JobTelemetry } from './job.telemetry.js';
import { JobOwnersRepository } from './job-owners.repository.js';
import { JobsRepository } from './jobs.repository.js';
import { NotificationsRepository } from './notifications/notifications.repository.js';
import { Presence } from './presence/presence.js';
import { PresenceRepository } from './presence/presence.repository.js';
import { JobQueue } from './queue/job-queue.js';
import { DueInterruptsRepository } from './resolve/due-interrupts.repository.js';
import { InterruptSettler } from './resolve/interrupt-settler.js';
import { InterruptTimers } from './resolve/interrupt-timers.js';
import { RefusedWaits } from './resolve/refused-waits.js';
import { RefusedWaitsRepository } from './resolve/refused-waits.repository.js';
import { Retention } from './retention/retention.js';
import { RetentionRepository } from './retention/retention.repository.js';
import { RowWorkspacesRepository } from './row-workspaces.repository.js';
import { HandlerRunner } from './run/handler-runner.js';
import { JobHandlers } from './run/job-handlers.js';
import { JobRunner } from './run/job-runner.js';
import { LeaseRepository } from './run/lease.repository.js';
import { LostLeases } from './run/lost-leases.js';
import { LostLeasesRepository } from './run/lost-leases.repository.js';
import { Sweeper } from './run/sweeper.js';
import { Worker } from './run/worker.js';
import { SnapshotRepository } from './snapshot/snapshot.repository.js';
import { JobStarter } from './start/job-starter.js';
import { NewJobRepository } from './start/new-job.repository.js';
import { PausedRunsRepository } from './start/paused-runs.repository.js';
import { StartRepository } from './start/start.repository.js';
import { StartAdmission } from './start/start-admission.js';
import { StartEffectsPublisher } from './start/start-effects.js';
import { StartFilters } from './start/start-filters.js';
import { ShownTextsRepository } from './text/shown-texts.repository.js';
import { DelayedJobs } from './thread-queue/delayed-jobs.js';
import { ThreadQueue } from './thread-queue/thread-queue.js';
import { ThreadQueueRepository } from './thread-queue/thread-queue.repository.js';
import { TurnMessages } from './thread-queue/turn-messages.js';
import { JobUpdateRepository } from './update/job-update.repository.js';
import { JobUpdater } from './update/job-updater.js';

/** The number of unfinished jobs, counted when Prometheus reads the metric. Only the index of unfinished jobs is read. */
@Injectable()
export class JobGauges {
  constructor(
    metrics: Metrics,
    @Inject(LeaseRepository) leases: Pick<LeaseRepository, 'countUnfinished'>,
    config: Config,
  ) {
    if (config.values.ROLE === 'tools') return; // the login of a tool process cannot read jobs
    metrics.gaugeOnScrape('nightshift_jobs', 'Unfinished jobs of all workspaces, by status', {
      labelNames: ['status'],
      fill: async (gauge) => {
        const counts = await leases.countUnfinished();
        gauge.reset();
        for (const { status, jobs } of counts) gauge.set({ status }, jobs);
      },
    });
  }
}

const shared = [
  ActionRowsRepository,
  AdmissionRepository,
  BackgroundJobs,
  ForegroundJobsRepository,
  ForegroundWatch,
  JobUpdateRepository,
  CancelRepository,
  DueInterruptsRepository,
  EventActions,
  EventFeed,
  EventLog,
  EventLogRepository,
  FeedRepository,
  FreedCapacity,
  FreedCapacityRepository,
  InterruptSettler,
  InterruptsRepository,
  DelayedJobs,
  InterruptTimers,
  JobUpdater,
  JobGauges,
  JobHandlers,
  JobOwnersRepository,
  JobQueue,
  JobRunner,
  JobStarter,
  StartFilters,
  JobStopper,
  JobsRepository,
  JobTelemetry,
  TurnMessages,
  LeaseRepository,
  LocalEvents,
  LostLeases,
  LostLeasesRepository,
  NewJobRepository,
  NotificationsRepository,
  PausedRunsRepository,
  Presence,
  PresenceRepository,
  RefusedWaits,
  RefusedWaitsRepository,
  Retention,
  RetentionRepository,
  RowWorkspacesRepository,
  HandlerRunner,
  ShownTextsRepository,
  SnapshotRepository,
  StartAdmission,
  StartEffectsPublisher,
  StartRepository,
  Sweeper,
  TailReader,
  ThreadQueue,
  ThreadQueueRepository,
  Worker,
];

/** Durable jobs and their events. The application module must provide `Postgres`, `PrismaService`, `Config`, `Metrics`, LOGGER and BUS. */
@Module({ providers: shared, exports: shared })
export class JobsModule {}
