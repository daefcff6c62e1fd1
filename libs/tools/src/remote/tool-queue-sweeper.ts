import { Injectable } from '@nestjs/common';

import { JobUpdater, type LockedJob, unknownOutcome } from '#jobs';
import { actOnEach, type Clock, handleEvery, Queues, QueueWorker, runParts, systemClock, TOOL_QUEUES } from '#platform';

import { executionError } from '../validate-arguments.js';
import type { LockedCall } from './awaiting-calls.repository.js';
import { DeadLetters, type DeadReason } from './dead-letters.js';
import { responseId } from './queue-message.js';
import { type QueueEnd, QueueSettler } from './queue-settler.js';
import { type QueueState, QueueStateRepository } from './queue-state.repository.js';
import { type DueCall, QueuedCallsRepository } from './queued-calls.repository.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

/** A call that may be called again is sent again after these pauses, and no further. */
const pausesMs = [1_000, 5_000, 25_000];
const dueAtOnce = 100;
/** Of one sweep. */
const maxPages = 10;
const firstId = '00000000-0000-0000-0000-000000000000';

interface Due {
  readonly locked: LockedJob;
  readonly call: LockedCall;
  readonly state: QueueState;
}

/**
 * Continues the calls of the tool queue from their rows alone, even if messages or processes were lost. One worker of the installation
 * sweeps at a time. If a sweep takes longer than its period, the next one runs beside it; the lock on the job's row lets one of them act.
 */
@Injectable()
export class ToolQueueSweeper extends QueueWorker {
  private readonly clock: Clock = systemClock;
  /** The waiting call that was looked at last: a sweep looks at the next ones. */
  private lookedAt = firstId;

  constructor(
    private readonly calls: QueuedCallsRepository,
    private readonly updater: JobUpdater,
    private readonly states: QueueStateRepository,
    private readonly settler: QueueSettler,
    private readonly dead: DeadLetters,
    private readonly queues: Queues,
    private readonly telemetry: ToolQueueTelemetry,
  ) {
    super();
  }

  /** Half a lease is what others count on. */
  protected async open() {
    const period = { queue: 'maintenance.tool-queue', everyMs: this.states.leaseMs / 2 } as const;
    return [await handleEvery(this.queues, period, () => this.sweep())];
  }

  /** Handles all calls that are due now, up to a limit. */
  async sweep(): Promise<void> {
    await runParts(
      () => this.queues.superviseNow(TOOL_QUEUES.results),
      () => this.calls.endLostClaims(),
      () => this.sweepCalls(),
    );
  }

  private async sweepCalls(): Promise<void> {
    const tried: string[] = [];
    for (let page = 0; page < maxPages; page += 1) {
      const waiting = await this.calls.waiting(dueAtOnce, this.lookedAt);
      this.lookedAt = waiting.length === dueAtOnce ? (waiting.at(-1)?.id ?? firstId) : firstId;
      const due = await this.calls.due(dueAtOnce, tried);
      tried.push(...due.map(({ id }) => id));
      await actOnEach(
        [...due, ...waiting],
        (ref) => this.lookAfter(ref),
        (err, { workspaceId, jobId, id }) => {
          this.telemetry.logger.warn({ err, workspaceId, jobId, toolCallId: id }, 'a due tool call was left');
        },
      );
      if (due.length < dueAtOnce && waiting.length < dueAtOnce) return;
    }
  }

  private async lookAfter({ workspaceId, jobId, id }: DueCall): Promise<void> {
    await this.updater.update(workspaceId, jobId, async (locked) => {
      const call = await this.settler.find(locked, id);
      const state = await this.states.find(locked, id);
      if (call === null || state === null || !locked.isOpen) return;
      await this.decide({ locked, call, state });
    });
  }

  /** What is true now, under the lock; the call may need nothing any more. */
  private async decide(due: Due): Promise<void> {
    const { locked, call, state } = due;
    if (state.cancelRequested) {
      if (!state.isOverdue) return;
      await this.queues.remove(TOOL_QUEUES.requests, state.takenId);
      await this.settler.stopped(locked, call, { started: true });
    } else if (state.isLost) {
      if (await this.hasResponse(call, state)) return;
      await this.queues.remove(TOOL_QUEUES.requests, state.takenId);
      await this.lost(due);
    } else if (state.isLate) await this.giveUp(due, notTaken(call.name, this.states.ttlMs), 'not_taken');
    else if (!state.isTaken && (await this.hasLostRequest(state))) {
      await this.states.sendAgain(locked, call.id);
      this.telemetry.resent.inc({ why: 'request lost' });
    }
  }

  /** A response that waits settles its call, even if its process was lost after it. */
  private async hasResponse({ id }: LockedCall, { epoch }: QueueState): Promise<boolean> {
    const [response] = await this.queues.find(TOOL_QUEUES.results, { id: responseId(id, epoch) });
    return response !== undefined && ['created', 'retry', 'active'].includes(response.state);
  }

  /** No request waits, and none was fetched within a lease, which is ample time to claim the call. Removes what is left of it. */
  private async hasLostRequest({ requestId }: QueueState): Promise<boolean> {
    const [request] = await this.queues.find(TOOL_QUEUES.requests, { id: requestId });
    if (request === undefined) return true;
    const { state, startedOn } = request;
    if (state === 'created' || state === 'retry') return false;
    if (state === 'active' && Number(startedOn) > this.clock.now() - this.states.leaseMs) return false;
    await this.queues.remove(TOOL_QUEUES.requests, requestId);
    return true;
  }

  private async lost(due: Due): Promise<void> {
    const { locked, call, state } = due;
    if (call.effect === 'once') {
      await this.settler.settle(locked, call, { status: 'interrupted', failure: unknownOutcome, started: true });
      return;
    }
    const pauseMs = pausesMs[state.attempts - 1];
    if (pauseMs === undefined) {
      await this.giveUp(due, lostTooOften(call.name, state.attempts), 'attempts');
      return;
    }
    await this.states.retry(locked, call.id, pauseMs);
    this.telemetry.resent.inc({ why: 'process lost' });
  }

  private async giveUp({ locked, call }: Due, end: QueueEnd, reason: DeadReason): Promise<void> {
    const { client, workspaceId, jobId } = locked;
    await this.dead.note(client, { workspaceId, jobId, id: call.id, reason });
    await this.settler.settle(locked, call, end);
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
