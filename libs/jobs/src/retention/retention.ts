import { Injectable } from '@nestjs/common';

import { Config, Queues, QueueWorker } from '#platform';

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
    await this.inBatches(() => this.presence.forgetStale(batch));
    const trimmed = await this.inBatches(() => this.repository.trimDeltas(DELTA_RETENTION_MS, batch));
    const deleted = await this.inBatches(() => this.deleteExpired());
    return { trimmed, deleted, markers: await this.deleteMarkers() };
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
    const expired = await this.repository.findExpired(this.config.values.JOB_RETENTION_MS, batch);
    const byWorkspace = Map.groupBy(expired, ({ workspaceId }) => workspaceId);
    let deleted = 0;
    for (const [workspaceId, refs] of byWorkspace) {
      const ids = refs.map(({ jobId }) => jobId);
      deleted += await this.repository.deleteJobs(workspaceId, ids);
    }
    return deleted;
  }

  private async deleteMarkers(): Promise<number> {
    const workspaces = await this.repository.workspacesAfter(this.cursor, workspacesPerPass);
    this.cursor = workspaces.length < workspacesPerPass ? null : (workspaces.at(-1) ?? null);
    let deleted = 0;
    for (const id of workspaces) {
      deleted += await this.repository.deleteMarkers(id, markerRetentionMs);
      for (const rows of this.registered) await this.deleteExpiredIn(id, rows);
    }
    return deleted;
  }

  /** An error must not end the retention of other rows and workspaces. */
  private async deleteExpiredIn(workspaceId: string, rows: ExpiredRows): Promise<void> {
    try {
      await this.inBatches(() => rows.deleteExpired(workspaceId));
    } catch (err) {
      this.telemetry.logger.warn({ err, workspaceId }, 'expired rows of a workspace were not deleted');
    }
  }
}
