import { Injectable } from '@nestjs/common';

import { type HeldJob, JobAmender, unknownOutcome } from '#jobs';
import { type Clock, systemClock, type Timer } from '#platform';

import type { HeldCall } from '../awaiting-calls.repository.js';
import { executionError } from '../validate-arguments.js';
import type { DeadLetter, DeadReason } from './dead-letter.js';
import { type DueCall, DueCallsRepository } from './due-calls.repository.js';
import { type QueueEnd, QueueSettler } from './queue-settler.js';
import { type QueueState, QueueStateRepository } from './queue-state.repository.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

/** A call that may be called again is sent again after these pauses, and no further. */
const pausesMs = [1_000, 5_000, 25_000];
const dueAtOnce = 100;

interface Due {
  readonly held: HeldJob;
  readonly call: HeldCall;
  readonly state: QueueState;
}

/**
 * Moves the calls of the isolated queue on by their rows alone, even if messages or processes were lost. Runs in every
 * worker process; the lock of the job's row lets one of them act.
 */
@Injectable()
export class ToolQueueSweeper {
  private readonly clock: Clock = systemClock;
  private timer: Timer | undefined;
  private sweeping: Promise<void> | undefined;
  private isStarted = false;

  constructor(
    private readonly due: DueCallsRepository,
    private readonly amender: JobAmender,
    private readonly states: QueueStateRepository,
    private readonly settler: QueueSettler,
    private readonly telemetry: ToolQueueTelemetry,
  ) {}

  /** Sweeps now and about every so many ms; half a lease is what others count on. */
  start(everyMs: number): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.sweepNow(everyMs);
  }

  async stop(): Promise<void> {
    this.isStarted = false;
    this.timer?.cancel();
    await this.sweeping;
  }

  /** Looks after everything that is due now, up to a bound. */
  async sweep(): Promise<void> {
    await this.due.endLostClaims();
    for (const ref of await this.due.find(dueAtOnce)) {
      try {
        await this.lookAfter(ref);
      } catch (error) {
        const { workspaceId, jobId, id } = ref;
        this.telemetry.logger.warn({ err: error, workspaceId, jobId, toolCallId: id }, 'a due tool call was left');
      }
    }
  }

  private sweepNow(everyMs: number): void {
    this.sweeping = this.sweep()
      .catch((error: unknown) => {
        this.telemetry.logger.warn({ err: error }, 'looking for due tool calls failed');
      })
      .finally(() => {
        if (!this.isStarted) return;
        this.timer = this.clock.after(everyMs * (0.75 + Math.random() / 2), () => {
          this.sweepNow(everyMs);
        });
      });
  }

  private async lookAfter({ workspaceId, jobId, id }: DueCall): Promise<void> {
    await this.amender.amend(workspaceId, jobId, async (held) => {
      const call = await this.settler.find(held, id);
      const state = await this.states.find(held, id);
      if (call === null || state === null || !held.isOpen) return;
      await this.decide({ held, call, state });
    });
  }

  /** What is true now, under the lock; it may be nothing that anybody has to look after any more. */
  private async decide(due: Due): Promise<void> {
    const { held, call, state } = due;
    if (state.cancelRequested) {
      if (state.isOverdue) await this.settler.stopped(held, call, { started: true });
    } else if (state.isLost) await this.lost(due);
    else if (state.isLate) await this.giveUp(due, notTaken(call.name, this.states.ttlMs), 'not_taken');
    else if (!state.isTaken) {
      await this.states.sendAgain(held, call.id);
      this.telemetry.resent.inc({ why: 'request lost' });
    }
  }

  private async lost(due: Due): Promise<void> {
    const { held, call, state } = due;
    if (call.effect === 'once') {
      await this.settler.settle(held, call, { status: 'interrupted', failure: unknownOutcome, started: true });
      return;
    }
    const pauseMs = pausesMs[state.attempts - 1];
    if (pauseMs === undefined) {
      await this.giveUp(due, lostTooOften(call.name, state.attempts), 'attempts');
      return;
    }
    await this.states.retry(held, call.id, pauseMs);
    this.telemetry.resent.inc({ why: 'process lost' });
  }

  private async giveUp({ held, call }: Due, end: QueueEnd, reason: DeadReason): Promise<void> {
    const letter: DeadLetter = {
      type: 'dead_letter',
      reason,
      workspace_id: held.workspaceId,
      job_id: held.jobId,
      correlation_id: call.id,
      timestamp: this.clock.now(),
      message: null,
    };
    await this.states.bury(held, letter);
    await this.settler.settle(held, call, end);
  }
}

function notTaken(name: string, ttlMs: number): QueueEnd {
  const message = executionError(name, `it was not started within ${ttlMs} ms`);
  return { status: 'timed_out', failure: { phase: 'timeout', message }, started: false };
}

function lostTooOften(name: string, times: number): QueueEnd {
  const message = executionError(name, `it was started ${times} times and each time its process was lost`);
  return { status: 'error', failure: { phase: 'execution', message }, started: true };
}
