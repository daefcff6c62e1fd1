import { Inject, Injectable } from '@nestjs/common';

import { awakeTimeout, BUS, type Bus, runParts, type Scope, systemClock } from '#platform';

import type { JobRef } from '../job.js';
import { isTerminal, type JobStatus } from '../job.lifecycle.js';
import { JobTelemetry } from '../job.telemetry.js';
import { JobsRepository } from '../jobs.repository.js';
import { ThreadQueue } from '../thread-queue/thread-queue.js';
import { AdmissionRepository } from './admission.repository.js';
import { type CancelInput, CancelRepository, type CancelResult } from './cancel.repository.js';

/** The result of a stop, with the names of the REST API. */
export type StopState = 'aborted' | 'already_terminal' | 'cancel_requested' | 'not_found';

/** The result of stopping a job and its descendants. */
export interface StoppedTree {
  readonly state: StopState;
  /** Number of descendants that had not ended. Each is cancelled now, or its cancel is requested. */
  readonly stoppedSubJobs: number;
}

/** The result of a stop by idempotency key. */
export interface AdmissionAbort {
  readonly state: 'aborted' | 'cancel_requested' | 'already_terminal';
  readonly jobId: string | null;
}

/** How long a stop waits for the worker before it returns `cancel_requested`. */
const stopTimeoutMs = 5_000;
const stopPollMs = 250;
/** The reason of a sub-job that is cancelled because its parent is. */
const parentStopped = 'parent_stopped';

/** Stops jobs. The caller checks the right to change the job; the workspace of the scope is checked here. */
@Injectable()
export class JobStopper {
  constructor(
    private readonly cancels: CancelRepository,
    private readonly admissions: AdmissionRepository,
    private readonly jobs: JobsRepository,
    private readonly threadQueue: ThreadQueue,
    private readonly telemetry: JobTelemetry,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /**
   * Cancels a job: at once if no worker runs it, else the worker has up to 5 s. `aborted` means that the job *is* cancelled, by this call
   * or an earlier one; `already_terminal` that it completed or failed. May be called again.
   */
  async stop(scope: Scope, jobId: string, reason = 'cancelled'): Promise<StopState> {
    return (await this.stopTree(scope, jobId, reason)).state;
  }

  /** Like `stop`; also counts the descendants that it stopped, even if the job itself had ended. */
  async stopTree(scope: Scope, jobId: string, reason = 'cancelled'): Promise<StoppedTree> {
    const { workspaceId, principal: by } = scope;
    // After the commit of the cancel, a worker may cancel descendants, too. They count, so they are read before.
    const before = await this.cancels.openDescendants({ workspaceId, jobId });
    const result = await this.cancel({ workspaceId, jobId, by, reason });
    if (result === null) return { state: 'not_found', stoppedSubJobs: 0 };
    // The job cannot start further sub-jobs now, so this finds all of them.
    const stoppedSubJobs = await this.stopDescendants({ workspaceId, jobId }, by, before);
    if (result.state === 'terminal') return { state: stateAtEnd(result.status), stoppedSubJobs };
    if (result.state === 'ended') return { state: 'aborted', stoppedSubJobs };
    return { state: await this.waitForEnd(scope, jobId), stoppedSubJobs };
  }

  /** Cancels a job whose result is no longer needed, and its descendants, without waiting for its worker. May be called again. */
  async cancelTree(job: JobRef, reason: string = parentStopped): Promise<void> {
    await this.cancel({ ...job, by: 'system', reason });
    await this.stopDescendants(job, 'system');
  }

  /**
   * Cancels the job that `key` started. If it has started none yet, a stored marker rejects a later start. The marker and a start take the
   * same lock, so exactly one of them wins.
   */
  async stopAdmission(scope: Scope, key: string): Promise<AdmissionAbort> {
    const jobId = await this.admissions.findOrMark(scope, key);
    if (jobId === null) return { state: 'cancel_requested', jobId: null };
    const state = await this.stop(scope, jobId);
    return { state: state === 'not_found' ? 'already_terminal' : state, jobId };
  }

  /**
   * One transaction per job: no transaction locks two jobs. After a crash the sweeper stops the remaining ones. Returns how many of the open
   * descendants, those now and those `before`, are cancelled now.
   */
  private async stopDescendants(
    { workspaceId, jobId }: JobRef,
    by: string,
    before: readonly string[] = [],
  ): Promise<number> {
    let stopped = 0;
    const open = new Set([...before, ...(await this.cancels.openDescendants({ workspaceId, jobId }))]);
    await runParts(
      ...[...open].map((descendant) => async () => {
        const result = await this.cancel({ workspaceId, jobId: descendant, by, reason: parentStopped });
        if (result !== null && (result.state !== 'terminal' || result.status === 'cancelled')) stopped += 1;
      }),
    );
    return stopped;
  }

  private async cancel(order: CancelInput): Promise<CancelResult | null> {
    const { workspaceId, jobId } = order;
    const result = await this.cancels.inWorkspace(workspaceId, (client) => this.cancels.cancel(client, order));
    if (result === null || result.state === 'terminal') return result;
    if (result.state === 'requested') this.bus.publish('job-cancel', { workspaceId, jobId, why: order.reason });
    this.bus.publish('job-events', { workspaceId, jobId, seq: result.seq, status: result.status });
    if (result.state !== 'ended') return result;
    const { status, kind, rounds, threadId, parentJobId } = result;
    this.telemetry.jobEnded({ workspaceId, jobId, kind, status, rounds });
    this.bus.publish('interrupts-changed', { workspaceId });
    if (parentJobId !== null) this.bus.publish('sub-jobs', { workspaceId, jobId: parentJobId });
    if (threadId !== null) await this.threadQueue.advance(workspaceId, threadId);
    return result;
  }

  /** The hint wakes the loop early; the poll covers a lost hint. */
  private async waitForEnd(scope: Scope, jobId: string): Promise<StopState> {
    let wake: () => void = () => undefined;
    const waiting = { isOver: false };
    const timeout = awakeTimeout(systemClock, stopTimeoutMs, () => {
      waiting.isOver = true;
      wake();
    });
    const off = this.bus.subscribe('job-events', (hint) => {
      if (hint.jobId === jobId) wake();
    });
    try {
      for (;;) {
        const job = await this.jobs.findInScope(scope, jobId);
        if (job === null) return 'not_found';
        if (isTerminal(job.status)) return stateAtEnd(job.status);
        if (waiting.isOver) return 'cancel_requested';
        await new Promise<void>((resolve) => {
          const timer = systemClock.after(stopPollMs, resolve);
          wake = () => {
            timer.cancel();
            resolve();
          };
        });
      }
    } finally {
      timeout.cancel();
      off();
    }
  }
}

/** Callers that cancel the same job at the same time get the same reply. */
function stateAtEnd(status: JobStatus): StopState {
  return status === 'cancelled' ? 'aborted' : 'already_terminal';
}
