import { Inject, Injectable } from '@nestjs/common';

import { Draining } from '#jobs';
import {
  BUS,
  type Bus,
  type Clock,
  Config,
  crashpoint,
  type Delivery,
  type LeaseLoss,
  Leases,
  Queues,
  systemClock,
  TOOL_QUEUES,
} from '#platform';

import { type CallControls, CallExecution, type CallOutcome } from './call-execution.js';
import { type ClaimedCall, ExecClaimsRepository } from './exec-claims.repository.js';
import { type ProgressChunk, ProgressSender } from './progress-sender.js';
import { responseId, type ToolProgressMessage, type ToolResponse } from './queue-message.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

/** Pause in ms before a call whose check failed is tried again. */
const retryMs = 2_000;
const firstPauseMs = 250;
const longestPauseMs = 4_000;

/** Why this process may no longer run a call: it was settled, cancelled, or its lease could not be renewed in time. */
class ClaimLost extends Error {
  constructor(readonly why: LeaseLoss) {
    super(`the claim was ${why}`);
    this.name = 'ClaimLost';
  }
}

/** A claimed call, and what aborts it. */
interface RunningCall {
  readonly call: ClaimedCall;
  readonly controller: AbortController;
}

/** How a call ended in this process; `stopped`: the reason of its abort, if it was aborted. */
interface Ended {
  readonly call: ClaimedCall;
  readonly request: Delivery;
  readonly answer: CallOutcome;
  readonly stopped: unknown;
}

/** Runs the calls that this process has claimed: renews the claims, and sends the progress and the response of each call. */
@Injectable()
export class CallRunner {
  private readonly clock: Clock = systemClock;
  private readonly leases: Leases<RunningCall, string>;
  private readonly active = new Map<AbortController, Promise<void>>();

  constructor(
    private readonly claims: ExecClaimsRepository,
    private readonly execution: CallExecution,
    private readonly queues: Queues,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: ToolQueueTelemetry,
    private readonly config: Config,
  ) {
    const { LEASE_MS: leaseMs } = config.values;
    this.leases = new Leases({
      ...{ leaseMs, clock: this.clock, logger: telemetry.logger },
      idOf: ({ call }) => call.id,
      renew: async (running) => {
        const claimed = running.map(({ call: { workspaceId, id, epoch } }) => ({ workspaceId, id, epoch }));
        return new Map(Array.from(await claims.renew(claimed), (id) => [id, id]));
      },
      onLost: ({ controller }, why) => {
        controller.abort(new ClaimLost(why));
      },
    });
  }

  /** Runs a claimed call; `claimedAt` is the monotonic instant before the claim was sent. Resolves when the call ends here. Never throws. */
  async run(call: ClaimedCall, request: Delivery, claimedAt: number): Promise<void> {
    const controller = new AbortController();
    const lease = this.leases.add({ call, controller }, claimedAt);
    const done = this.runClaimed(call, request, { signal: controller.signal, isValid: () => lease.isValid() })
      .catch((error: unknown) => {
        const { workspaceId, jobId, id } = call;
        this.telemetry.logger.error({ err: error, workspaceId, jobId, toolCallId: id }, 'a tool call was dropped');
      })
      .finally(() => {
        lease.release();
        this.active.delete(controller);
        this.telemetry.running.set(this.active.size);
      });
    this.active.set(controller, done);
    this.telemetry.running.set(this.active.size);
    await done;
  }

  /** Handles a hint about some calls: those that are settled or cancelled stop in this process. */
  recheck(concerns: (call: ClaimedCall) => boolean): void {
    void this.leases.ask(({ call }) => concerns(call));
  }

  /** Resolves when no call runs. Calls that still run after `graceMs` are aborted, and released or settled by their effect. */
  async drain(graceMs: number): Promise<void> {
    const grace = this.clock.after(graceMs, () => {
      for (const controller of this.active.keys()) controller.abort(new Draining());
    });
    await Promise.all(this.active.values());
    grace.cancel();
  }

  private async runClaimed(call: ClaimedCall, request: Delivery, right: Pick<CallControls, 'signal' | 'isValid'>) {
    const redact = (text: string) => this.execution.redact(call, text);
    const progress = new ProgressSender((chunk) => this.sendProgress(call, chunk), this.clock, redact);
    const answer = await this.execution.run(call, {
      ...right,
      progress: (update) => {
        progress.report(update);
      },
    });
    await progress.close();
    crashpoint('before-tool-commit');
    if (answer === null) await this.claims.release(call, { restartWait: false, delayMs: retryMs });
    else await this.end({ call, request, answer, stopped: right.signal.reason });
  }

  private async end({ call, request, answer, stopped }: Ended): Promise<void> {
    const isCut = answer.status === 'cancelled';
    // The call was not cancelled; the process that claims it next decides by its effect.
    if (isCut && stopped instanceof ClaimLost && stopped.why === 'not renewed') return;
    const mayRunAgain = call.effect !== 'once' || !answer.started;
    if (isCut && stopped instanceof Draining && mayRunAgain) {
      await this.claims.release(call, { restartWait: true, delayMs: 0 });
      return;
    }
    await this.respond(call, answer, request);
  }

  /** Rejects if the queue cannot accept the progress now. */
  private async sendProgress(call: ClaimedCall, chunk: ProgressChunk): Promise<void> {
    const message: ToolProgressMessage = {
      type: 'tool_progress',
      ...placeOf(call),
      ...chunk,
      timestamp: this.clock.now(),
      exec_epoch: call.epoch,
    };
    await this.queues.send(null, TOOL_QUEUES.results, [{ data: message, key: call.workspaceId }]);
    this.hintResult(call);
  }

  /**
   * Retries until the response is in the queue, for at most the length of a lease. After that, the claim expires and the call is handled by
   * its effect.
   */
  private async respond(call: ClaimedCall, answer: CallOutcome, request: Delivery): Promise<void> {
    const { workspaceId, jobId, id, epoch, attempt } = call;
    const message: ToolResponse = {
      type: 'tool_response',
      ...placeOf(call),
      ...answer,
      timestamp: this.clock.now(),
      exec_epoch: epoch,
      attempt,
    };
    const giveUpAt = this.clock.monotonic() + this.config.values.LEASE_MS;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        // Once the response is applied, the call may belong to another process, and a tool process cannot complete its request.
        await this.queues.respond(TOOL_QUEUES.requests, request, {
          queue: TOOL_QUEUES.results,
          message: { id: responseId(id, epoch), data: message, key: workspaceId },
        });
        this.hintResult(call);
        this.telemetry.answered.inc({ status: answer.status });
        return;
      } catch (error) {
        this.telemetry.logger.warn({ err: error, workspaceId, jobId, toolCallId: id }, 'a tool response was not sent');
        if (this.clock.monotonic() + pauseMs > giveUpAt) return;
      }
      await new Promise<void>((resolve) => this.clock.after(pauseMs, resolve));
    }
  }

  private hintResult({ workspaceId }: ClaimedCall): void {
    this.bus.publish('tool-queue', { workspaceId, queue: 'results' });
  }
}

function placeOf({ id, workspaceId, jobId }: ClaimedCall) {
  return { correlation_id: id, workspace_id: workspaceId, job_id: jobId };
}
