import { Injectable } from '@nestjs/common';

import { JobUpdater, type LockedJob } from '#jobs';
import { crashpoint, Redactor } from '#platform';

import { type FilteredEnd, ResultHooks } from '../hooks/result-hooks.js';
import { toKeptResult } from '../to-kept-result.js';
import type { Settlement } from '../tool-call.js';
import { executionError } from '../validate-arguments.js';
import { AwaitingCallsRepository } from './awaiting-calls.repository.js';
import { CallEnds } from './call-ends.js';
import type { SubJob, SubJobCall, SubJobCallRef } from './sub-job-calls.repository.js';

/** Ends calls that run as sub-jobs, under the lock of the parent job. The parent continues once nothing is open. */
@Injectable()
export class SubJobSettler {
  constructor(
    private readonly updater: JobUpdater,
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
    private readonly hooks: ResultHooks,
    private readonly redactor: Redactor,
  ) {}

  /** Ends the call of a sub-job that has ended. Idempotent: a settled call does not change. */
  async takeOver(call: SubJobCall, subJob: SubJob): Promise<void> {
    const { workspaceId, jobId } = call;
    const end = await this.hooks.filter(call, this.endOf(call, subJob));
    await this.updater.update(workspaceId, jobId, (locked) => this.settle(locked, call, end));
  }

  /** Ends a call whose sub-job cannot start. Does nothing if another process has started it meanwhile: a start takes the same lock. */
  async refuse(ref: SubJobCallRef, refused: Settlement): Promise<void> {
    const end = await this.hooks.filter(ref, refused);
    await this.updater.update(ref.workspaceId, ref.jobId, async (locked) => {
      if (!(await this.calls.hasSubJob(locked, ref.id))) await this.settle(locked, ref, end);
    });
  }

  /** Notifies viewers of the parent which sub-job runs the call. */
  async show({ workspaceId, jobId, id, callId }: SubJobCall, subJobId: string): Promise<void> {
    await this.updater.update(workspaceId, jobId, async (locked) => {
      const call = await this.calls.find(locked, id);
      if (call?.status !== 'running' || !locked.isOpen) return;
      const message = `Runs as job ${subJobId}`;
      locked.show({ type: 'tool-progress', body: { callId, seqInCall: 1, message, subJobId } });
    });
  }

  /** A job that is being cancelled closes its open calls itself. */
  private async settle(locked: LockedJob, ref: SubJobCallRef, end: FilteredEnd): Promise<void> {
    const call = await this.calls.find(locked, ref.id);
    if (call?.status !== 'running' || call.executor !== 'job' || !locked.isOpen) return;
    await this.ends.end(locked, call, end);
    crashpoint('in-sub-job-result');
  }

  private endOf({ workspaceId, callId, name }: SubJobCall, { status, content, error }: SubJob): Settlement {
    const redactor = this.redactor.of(workspaceId);
    if (status === 'completed') {
      const { durable: result, whole, bytes } = toKeptResult(redactor.redact(content ?? ''), callId);
      return { status, result, ...(whole === null ? {} : { whole, resultBytes: bytes }) };
    }
    const isCancelled = status === 'cancelled';
    const reason = isCancelled ? 'its job was cancelled' : `its job failed: ${error?.message ?? 'unknown'}`;
    const failure = { phase: 'execution', message: executionError(name, redactor.redact(reason)) } as const;
    return { status: isCancelled ? 'cancelled' : 'error', failure };
  }
}
