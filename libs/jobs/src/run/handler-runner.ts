import { Inject, Injectable } from '@nestjs/common';

import { AppError, BUS, type Bus, Config, crashpoint, defined, isTransient, newId } from '#platform';

import { CancelRepository } from '../cancel/cancel.repository.js';
import { FreedCapacity } from '../capacity/freed-capacity.js';
import type { JobMove } from '../events/commit-statement.js';
import type { NewJobEvent } from '../events/job-event.js';
import { type JobEnd, jobFinished } from '../events/job-finished.js';
import { JobTelemetry } from '../job.telemetry.js';
import { CancelRequested, LeaseLost } from '../jobs.errors.js';
import { endNotifications } from '../notifications/new-notification.part.js';
import { DeadlineReached, Draining, JobCancelled, Poisoned } from './end-reason.js';
import type { JobHandler, JobOutcome } from './job-handler.js';
import type { JobRun } from './job-run.js';
import type { ClaimedJob } from './lease.repository.js';

type RunResult =
  | { readonly kind: 'end'; readonly end: JobEnd }
  | { readonly kind: 'waiting'; readonly interruptIds: readonly string[] }
  | { readonly kind: 'released'; readonly agentId?: string };

const failed = (code: string, message: string, retryable = false): RunResult => ({
  kind: 'end',
  end: { status: 'failed', reason: code, error: { code, message, ...(retryable && { retryable }) } },
});

/** Runs a handler until its job ends, waits or is released: derives the outcome from the handler's result and the abort reason, and commits it. */
@Injectable()
export class HandlerRunner {
  constructor(
    readonly telemetry: JobTelemetry,
    private readonly capacity: FreedCapacity,
    @Inject(BUS) private readonly bus: Bus,
    private readonly config: Config,
    private readonly cancels: CancelRepository,
  ) {}

  /**
   * Never rejects. After a lost lease, a transient error of the database or a failed commit it writes nothing more, and a later claim continues
   * the job. Any other error of the handler fails the job.
   */
  async run(run: JobRun, handler: JobHandler | undefined): Promise<void> {
    const { jobId, workspaceId, epoch, kind } = run.job;
    try {
      if (epoch === 1) this.telemetry.queueWait.observe(Math.max(0, run.job.waitedMs) / 1_000);
      const result = await this.runHandler(run, handler);
      if (result.kind !== 'end') return;
      const { rounds } = run.totals;
      this.telemetry.jobEnded({ workspaceId, jobId, kind, status: result.end.status, rounds });
    } catch (error) {
      const err = error instanceof LeaseLost && error.cause !== undefined ? error.cause : error;
      this.telemetry.logger.warn({ jobId, workspaceId, epoch, err }, 'run stopped without ending its job');
    }
  }

  /** If the job was answered or cancelled while it was about to wait, its handler reads its rows again. */
  private async runHandler(run: JobRun, handler: JobHandler | undefined): Promise<RunResult> {
    for (;;) {
      const result = await this.resultOf(run, handler);
      crashpoint('before-finish');
      if (result.kind !== 'waiting') {
        await this.commitResult(run, result);
        return result;
      }
      if (await this.commitWaiting(run, result)) {
        // A waiting job keeps its thread, but no longer counts as running.
        await this.capacity.freed({ workspaceId: run.job.workspaceId, threadId: null });
        return result;
      }
      await run.commit(); // stores the handler's writes before the handler reads its rows again
    }
  }

  private async commitWaiting(run: JobRun, result: Extract<RunResult, { kind: 'waiting' }>): Promise<boolean> {
    try {
      return await run.commitWaiting({
        events: [{ type: 'job-waiting', body: { interruptIds: result.interruptIds } }],
      });
    } catch (error) {
      if (!(error instanceof CancelRequested)) throw error;
      run.abort(new JobCancelled(error.why));
      return false;
    }
  }

  private async resultOf(run: JobRun, handler: JobHandler | undefined): Promise<RunResult> {
    if (handler === undefined) return failed('internal', `No handler for jobs of kind ${run.job.kind}`);
    const excess = run.job.attempts - this.config.values.MAX_ATTEMPTS;
    if (excess > 0) run.abort(new Poisoned());
    if (excess > 1) {
      // Attempts to close the job failed too, so it ends without its handler.
      run.totals.contentLength = (await this.cancels.abandon(run.job)) ?? run.totals.contentLength;
      this.hintCancelled(run.job);
      return poisoned(run);
    }
    let outcome: JobOutcome;
    try {
      outcome = await handler.run(run);
    } catch (error) {
      if (!run.signal.aborted) return this.failure(run, error);
      outcome = { status: 'released' };
    }
    return run.signal.aborted ? this.resultAfterAbort(run, outcome) : toResult(outcome);
  }

  /** The signal's reason decides, unless the handler had completed the job before it saw the abort. */
  private resultAfterAbort(run: JobRun, outcome: JobOutcome): RunResult {
    const reason: unknown = run.signal.reason;
    if (reason instanceof LeaseLost) throw reason;
    if (outcome.status === 'completed') return toResult(outcome);
    if (reason instanceof JobCancelled) return { kind: 'end', end: { status: 'cancelled', reason: reason.why } };
    if (reason instanceof DeadlineReached) return failed('deadline', 'Job timed out');
    if (reason instanceof Poisoned) return poisoned(run);
    if (reason instanceof Draining) return { kind: 'released' };
    return this.failure(run, reason);
  }

  private failure(run: JobRun, error: unknown): RunResult {
    if (error instanceof LeaseLost) throw error;
    // The error is not caused by the job. As after a failed write, the lease expires and the next claim continues the job.
    if (isTransient(error)) throw run.lose(error);
    if (error instanceof AppError) return failed(error.code, error.message, error.retryable);
    const { jobId, workspaceId } = run.job;
    this.telemetry.logger.error({ jobId, workspaceId, err: error }, 'a handler failed unexpectedly');
    return failed('internal', 'Internal error', true);
  }

  private async commitResult(run: JobRun, result: Exclude<RunResult, { kind: 'waiting' }>): Promise<void> {
    const { workspaceId, jobId, kind, threadId } = run.job;
    const rows = result.kind === 'released' ? [] : endNotifications(run.job, result.end, newId());
    await run.commit({ events: eventsOf(run, result), rows }, moveOf(result, run.job));
    const isOver = result.kind === 'released' && (await this.endIfCancelled(run));
    if (isOver) return;
    if (result.kind === 'released') this.bus.publish('job-runnable', { workspaceId, jobId, kind });
    if (result.kind === 'end') this.hintParent(run.job);
    if (result.kind === 'end') await this.capacity.freed({ workspaceId, threadId });
    else await this.capacity.freed({ workspaceId, threadId: null });
  }

  /** A draining worker no longer receives cancels, so the row is checked after the job was released. */
  private async endIfCancelled({ job }: JobRun): Promise<boolean> {
    const { workspaceId, jobId } = job;
    const ended = await this.cancels.inWorkspace(workspaceId, (client) => this.cancels.endIfRequested(client, job));
    if (ended === null) return false;
    const { seq, status, kind, rounds, threadId } = ended;
    this.telemetry.jobEnded({ workspaceId, jobId, kind, status, rounds });
    this.bus.publish('job-events', { workspaceId, jobId, seq, status });
    this.hintCancelled(job);
    this.hintParent(job);
    await this.capacity.freed({ workspaceId, threadId });
    return true;
  }

  /** Publishes hints after requests and sub-jobs were cancelled. */
  private hintCancelled({ workspaceId, jobId }: ClaimedJob): void {
    this.bus.publish('interrupts-changed', { workspaceId });
    this.bus.publish('sub-jobs', { workspaceId, jobId });
  }

  private hintParent({ workspaceId, parentJobId }: ClaimedJob): void {
    if (parentJobId !== null) this.bus.publish('sub-jobs', { workspaceId, jobId: parentJobId });
  }
}

function poisoned({ job }: JobRun): RunResult {
  const cause = job.lastError === null ? '' : ` Last error: ${job.lastError.message}`;
  return failed('poison', `The job stopped its worker ${job.attempts - 1} times without progress.${cause}`);
}

function toResult(outcome: JobOutcome): RunResult {
  switch (outcome.status) {
    case 'completed':
      return { kind: 'end', end: { status: 'completed', reason: outcome.reason } };
    case 'failed':
      return failed(outcome.code, outcome.message, outcome.retryable);
    case 'waiting':
      return { kind: 'waiting', interruptIds: outcome.interruptIds };
    case 'released':
      return { kind: 'released', ...defined({ agentId: outcome.agentId }) };
  }
}

function moveOf(result: Exclude<RunResult, { kind: 'waiting' }>, { kind, parentJobId }: ClaimedJob): JobMove {
  switch (result.kind) {
    case 'end':
      return {
        to: result.end.status,
        reason: result.end.reason,
        parentJobId,
        ...defined({ error: result.end.error }),
      };
    case 'released':
      return { to: 'queued', kind, ...defined({ agentId: result.agentId }) };
  }
}

function eventsOf(run: JobRun, result: Exclude<RunResult, { kind: 'waiting' }>): NewJobEvent[] {
  switch (result.kind) {
    case 'end':
      return [jobFinished(result.end, { ...run.totals, durationMs: Date.now() - run.job.createdAt })];
    case 'released':
      return [
        { type: 'job-requeued', body: { reason: result.agentId === undefined ? 'worker stopped' : 'agent chosen' } },
      ];
  }
}
