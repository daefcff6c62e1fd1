import { Injectable } from '@nestjs/common';

import { actOnEach, Config, DatabaseUnavailable, Queues, QueueWorker, runParts } from '#platform';

import type { JobRef } from '../job.js';
import { JobTelemetry } from '../job.telemetry.js';
import { NotificationsRepository } from '../notifications/notifications.repository.js';
import { PresenceRepository } from '../presence/presence.repository.js';
import { RetentionRepository, type WorkspaceCursor } from './retention.repository.js';

/** The numbers of rows that one pass has deleted. */
export interface RetentionResult {
  /** Jobs whose deltas were deleted. */
  readonly trimmed: number;
  readonly deleted: number;
  /** Keys that were cancelled before their start. */
  readonly markers: number;
}

/** Deletes other expired rows of a workspace, one batch per call; returns how many rows it examined. */
export interface ExpiredRows {
  deleteExpired(workspaceId: string): Promise<number>;
}

const markerRetentionMs = 24 * 3_600_000;
/** Small, so that no lock is kept for long and transactions stay short. */
const batch = 50;
const batchesPerPass = 40;
const workspacesPerPass = 100;

/**
 * Deletes rows after their retention: deltas of finished jobs (their rounds keep the text), then the jobs (the thread keeps the text), and
 * rows of viewers whose process has crashed. Never deletes rows of an unfinished job. Several workers may run it at once.
 */
@Injectable()
export class Retention extends QueueWorker {
  private cursor: WorkspaceCursor = null;
  private readonly registered: ExpiredRows[];

  constructor(
    private readonly repository: RetentionRepository,
    private readonly presence: PresenceRepository,
    private readonly config: Config,
    private readonly queues: Queues,
    notifications: NotificationsRepository,
    private readonly telemetry: JobTelemetry,
  ) {
    super();
    this.registered = [notifications];
  }

  /** Higher libs register their rows at boot. */
  register(rows: ExpiredRows): void {
    this.registered.push(rows);
  }

  protected async open() {
    return [await this.queues.handleEachMinute('maintenance.retention', () => this.pass())];
  }

  /** Runs one pass. Markers and registered rows take some workspaces per pass; the next pass continues with the next workspaces. */
  async pass(): Promise<RetentionResult> {
    const { DELTA_RETENTION_MS } = this.config.values;
    const result = { trimmed: 0, deleted: 0, markers: 0 };
    await runParts(
      () => this.inBatches(() => this.presence.forgetStale(batch)),
      async () => {
        result.trimmed = await this.inBatches(() => this.repository.trimDeltas(DELTA_RETENTION_MS, batch));
      },
      async () => {
        result.deleted = await this.deleteExpired();
      },
      async () => {
        result.markers = await this.deleteInWorkspaces();
      },
    );
    return result;
  }

  private async inBatches(removeSome: () => Promise<number>): Promise<number> {
    let removed = 0;
    for (let i = 0; i < batchesPerPass; i++) {
      const some = await removeSome();
      removed += some;
      if (some < batch) break;
    }
    return removed;
  }

  private async deleteExpired(): Promise<number> {
    const failed: string[] = [];
    let deleted = 0;
    for (let i = 0; i < batchesPerPass; i++) {
      const expired = await this.repository.findExpired(this.config.values.JOB_RETENTION_MS, batch, failed);
      let done = 0;
      for (const [workspaceId, jobs] of Map.groupBy(expired, (job) => job.workspaceId)) {
        const kept = await this.deleteIn(workspaceId, jobs);
        failed.push(...kept.failed);
        done += kept.failed.length + kept.deleted;
        deleted += kept.deleted;
      }
      if (done < batch) break;
    }
    return deleted;
  }

  /** Deletes the jobs together; if that fails, one by one, so that only the jobs that cannot be deleted are left. */
  private async deleteIn(workspaceId: string, jobs: readonly JobRef[]): Promise<{ deleted: number; failed: string[] }> {
    const ids = jobs.map(({ jobId }) => jobId);
    try {
      return { deleted: await this.repository.deleteJobs(workspaceId, ids), failed: [] };
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error; // the database is away: each further try would wait, too
      const result = { deleted: 0, failed: [] as string[] };
      await actOnEach(
        ids,
        async (jobId) => {
          result.deleted += await this.repository.deleteJobs(workspaceId, [jobId]);
        },
        (err, jobId) => {
          result.failed.push(jobId);
          this.telemetry.logger.warn({ err, workspaceId, jobId }, 'an expired job was not deleted');
        },
      );
      return result;
    }
  }

  /** Returns how many markers it deleted. */
  private async deleteInWorkspaces(): Promise<number> {
    const workspaces = await this.repository.workspacesAfter(this.cursor, workspacesPerPass);
    let markers = 0;
    const deleteMarkers = async (workspaceId: string) => {
      markers += await this.repository.deleteMarkers(workspaceId, markerRetentionMs);
    };
    const others = this.registered.map((rows) => (id: string) => this.inBatches(() => rows.deleteExpired(id)));
    for (const workspaceId of workspaces) {
      this.cursor = workspaceId; // also if it fails: the next pass continues behind it
      await actOnEach(
        [deleteMarkers, ...others],
        (deleteRows) => deleteRows(workspaceId),
        (err) => {
          this.telemetry.logger.warn({ err, workspaceId }, 'expired rows of a workspace were not deleted');
        },
      );
    }
    if (workspaces.length < workspacesPerPass) this.cursor = null;
    return markers;
  }
}
