import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, type BusMessages, type SqlClient } from '#platform';

import type { JobRef } from '../job.js';
import { jobKinds } from '../job.js';
import { DoorbellRepository } from './doorbell.repository.js';

type Runnable = BusMessages['job-runnable'];

/**
 * Says "this job may be runnable". A pg-boss message, sent in the transaction that makes it so, is what survives
 * everything; the hint after the commit only makes it fast. Neither carries state, and a lost one costs a sweep.
 */
@Injectable()
export class Doorbell {
  constructor(
    private readonly repository: DoorbellRepository,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Inside the caller's transaction: one message per kind, whatever the number of jobs. */
  async ring(client: SqlClient, jobs: readonly Runnable[]): Promise<void> {
    for (const kind of jobKinds) {
      const refs = jobs.filter((job) => job.kind === kind);
      if (refs.length > 0) await this.repository.send(client, kind, refs);
    }
  }

  /** After the commit. */
  hint(job: Runnable): void {
    this.bus.publish('job-runnable', { workspaceId: job.workspaceId, jobId: job.jobId, kind: job.kind });
  }

  /** A job's log has grown, and its status perhaps moved, without a worker. */
  hintGrown(message: BusMessages['job-events']): void {
    this.bus.publish('job-events', message);
  }

  /** Requests to people or clients were opened or settled. */
  hintInterrupts(workspaceId: string): void {
    this.bus.publish('interrupts-changed', { workspaceId });
  }

  /** Something about the sub-jobs of this job is to be looked after. */
  hintSubJobs({ workspaceId, jobId }: JobRef): void {
    this.bus.publish('sub-jobs', { workspaceId, jobId });
  }

  hintCancel(message: BusMessages['job-cancel']): void {
    this.bus.publish('job-cancel', message);
  }

  /** Takes what has rung for `kinds` and removes it: from here on the job rows are what counts. */
  async answer(kinds: readonly string[]): Promise<JobRef[]> {
    const refs = await Promise.all(kinds.map((kind) => this.repository.take(kind)));
    return refs.flat();
  }

  start(): Promise<void> {
    return this.repository.start();
  }

  stop(): Promise<void> {
    return this.repository.stop();
  }
}
