import { Inject, Injectable } from '@nestjs/common';

import { LOGGER, type Logger, Metrics } from '#platform';

import type { JobRef } from './job.js';
import type { JobStatus } from './job.lifecycle.js';

/** A job that ended, in a worker or without one. */
export interface EndedJob extends JobRef {
  readonly kind: string;
  readonly status: JobStatus;
  readonly rounds: number;
}

/** Metrics and logs of jobs. Log lines carry ids, never content. */
@Injectable()
export class JobTelemetry {
  readonly accepted;
  private readonly finished;
  readonly queueWait;
  readonly leasesLost;
  readonly running;
  readonly commits;
  readonly batchSize;
  readonly deltaLength;
  readonly sentEvents;
  private readonly rounds;
  readonly viewers;

  constructor(
    metrics: Metrics,
    @Inject(LOGGER) readonly logger: Logger,
  ) {
    this.accepted = metrics.counter('nightshift_jobs_accepted_total', 'Jobs accepted, by kind', ['kind']);
    this.finished = metrics.counter('nightshift_jobs_finished_total', 'Jobs ended, by kind and status', [
      'kind',
      'status',
    ]);
    this.queueWait = metrics.histogram(
      'nightshift_job_queue_wait_seconds',
      'Time from the acceptance of a job to its first claim',
      {
        buckets: [0.005, 0.02, 0.1, 0.5, 1, 5, 30, 120, 600],
      },
    );
    this.leasesLost = metrics.counter(
      'nightshift_leases_lost_total',
      'Runs that stopped because they lost their lease',
    );
    this.running = metrics.gauge('nightshift_jobs_running', 'Jobs whose lease this process holds');
    this.commits = metrics.counter('nightshift_commits_total', 'Write transactions, by writer', ['writer']);
    this.batchSize = metrics.histogram('nightshift_commit_batch_jobs', 'Jobs whose writes shared one commit', {
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    });
    this.deltaLength = metrics.histogram('nightshift_delta_length', 'UTF-16 code units of text in one stored delta', {
      buckets: [16, 64, 256, 1_024, 4_096, 16_384],
    });
    this.sentEvents = metrics.histogram(
      'sse_broadcast_batch_size',
      'Events that are written at once to a viewer of an event stream (SSE)',
      {
        buckets: [1, 2, 5, 10, 20, 50, 100, 500, 2_000],
      },
    );
    this.rounds = metrics.histogram('background_job_rounds', 'Rounds of a job, observed when it ends', {
      buckets: [0, 1, 2, 3, 5, 8, 10, 20],
    });
    this.viewers = metrics.gauge('nightshift_viewers', 'Open streams of job events in this process');
  }

  /** Counts a job after the commit that ended it, and logs one line. */
  jobEnded({ workspaceId, jobId, kind, status, rounds }: EndedJob): void {
    this.finished.inc({ kind, status });
    this.rounds.observe(rounds);
    const details = { workspace_id: workspaceId, job_id: jobId, kind, status, rounds };
    this.logger.info(details, 'background_job_finished');
  }
}
