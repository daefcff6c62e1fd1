import { Injectable } from '@nestjs/common';

import { Draining } from '#jobs';
import { type Clock, Config, crashpoint, systemClock } from '#platform';

import { type CallAnswer, CallExecution } from './call-execution.js';
import { type ClaimedCall, ExecClaimsRepository } from './exec-claims.repository.js';
import { ClaimLost, ExecLeases } from './exec-leases.js';
import { ProgressSender } from './progress-sender.js';
import { ToolOutbox } from './tool-outbox.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';
import { ToolSlots } from './tool-slots.js';

/** Until a call that could not be looked into is tried again. */
const retryMs = 2_000;

/** Runs the calls this process has claimed: owns its room and its claims, and sees to it that each gets its answer. */
@Injectable()
export class CallRunner {
  readonly slots: ToolSlots;
  onRoom: () => void = () => undefined;
  private readonly clock: Clock = systemClock;
  private readonly leases: ExecLeases;
  private readonly active = new Map<AbortController, Promise<void>>();

  constructor(
    private readonly claims: ExecClaimsRepository,
    private readonly execution: CallExecution,
    private readonly outbox: ToolOutbox,
    readonly telemetry: ToolQueueTelemetry,
    private readonly config: Config,
  ) {
    const { LEASE_MS: leaseMs, TOOL_SLOTS, TOOL_SLOTS_PER_TOOL, TOOL_SLOTS_PER_WORKSPACE } = config.values;
    this.slots = new ToolSlots({
      total: TOOL_SLOTS,
      perTool: TOOL_SLOTS_PER_TOOL,
      perWorkspace: TOOL_SLOTS_PER_WORKSPACE,
    });
    this.leases = new ExecLeases(claims, { leaseMs, clock: this.clock, logger: telemetry.logger });
  }

  /** Begins to run a claimed call; `claimedAt` is the monotonic instant before the claim was sent. */
  begin(call: ClaimedCall, claimedAt: number): void {
    const leave = this.slots.enter(call);
    const controller = new AbortController();
    this.leases.add(call, claimedAt, (reason) => {
      controller.abort(reason);
    });
    const done = this.run(call, controller.signal)
      .catch((error: unknown) => {
        const { workspaceId, jobId, id } = call;
        this.telemetry.logger.error({ err: error, workspaceId, jobId, toolCallId: id }, 'a tool call was dropped');
      })
      .finally(() => {
        this.leases.remove(call);
        this.active.delete(controller);
        leave();
        this.telemetry.running.set(this.slots.size);
        this.onRoom();
      });
    this.active.set(controller, done);
    this.telemetry.running.set(this.slots.size);
  }

  /** Something was heard about some calls: those that are settled or cancelled stop here. */
  recheck(concerns: (call: ClaimedCall) => boolean): void {
    void this.leases.ask(concerns);
  }

  /** Resolves when no call runs. Calls that still run after `graceMs` are aborted, and released or settled by their effect. */
  async drain(graceMs: number): Promise<void> {
    const grace = this.clock.after(graceMs, () => {
      for (const controller of this.active.keys()) controller.abort(new Draining());
    });
    await Promise.all(this.active.values());
    grace.cancel();
  }

  private async run(call: ClaimedCall, signal: AbortSignal): Promise<void> {
    const redact = (text: string) => this.execution.redact(call, text);
    const progress = new ProgressSender((chunk) => this.outbox.progress(call, chunk), this.clock, redact);
    const answer = await this.execution.run(call, {
      signal,
      isValid: () => this.leases.isValid(call),
      progress: (said) => {
        progress.report(said);
      },
    });
    await progress.close();
    crashpoint('before-tool-commit');
    await this.end(call, signal.reason, answer);
  }

  private async end(call: ClaimedCall, stopped: unknown, answer: CallAnswer | null): Promise<void> {
    if (answer === null) {
      await this.claims.release(call, { anew: false, delayMs: retryMs });
      return;
    }
    const isCut = answer.status === 'cancelled';
    // The call was not cancelled: the next worker to claim it decides by its effect.
    if (isCut && stopped instanceof ClaimLost && stopped.why === 'not renewed') return;
    const mayRunAgain = call.effect !== 'once' || !answer.started;
    if (isCut && stopped instanceof Draining && mayRunAgain) {
      await this.claims.release(call, { anew: true, delayMs: 0 });
      return;
    }
    await this.outbox.answer(call, answer, this.config.values.LEASE_MS);
  }
}
