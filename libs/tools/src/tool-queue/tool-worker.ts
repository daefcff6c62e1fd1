import { Inject, Injectable } from '@nestjs/common';

import { isJobStatus, isTerminal } from '#jobs';
import {
  BUS,
  type Bus,
  type Clock,
  Config,
  type Delivery,
  processName,
  type QueueHandler,
  Queues,
  systemClock,
  TOOL_QUEUES,
} from '#platform';

import { MOST_CONCURRENT } from '../tool.js';
import { CallRunner } from './call-runner.js';
import { DeadLetters } from './dead-letters.js';
import { ExecClaimsRepository } from './exec-claims.repository.js';
import { type CancelRequest, type FunctionRequest, readRequest } from './queue-message.js';
import { CANCEL_PRIORITY } from './queue-state.repository.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';
import { ToolSlots } from './tool-slots.js';

/** Of the first handler, in case every hint is lost; of the others, which work only where there is more than one call. */
const [pollSeconds, relaxedPollSeconds] = [1, 15];

/** pg-boss counts the running calls of a tool with a limit, whose tier names it. Calls of other tools have no limit as a group. */
const groupConcurrency = {
  default: 1_000_000,
  tiers: Object.fromEntries(Array.from({ length: MOST_CONCURRENT }, (_, i) => [String(i + 1), i + 1])),
};

/** One handler of requests: it runs one call at a time. */
interface Seat {
  isBusy: boolean;
  handler?: QueueHandler;
}

/**
 * Takes calls of isolated tools while it has slots for them: a handler of pg-boss for each call that runs at once, made when the others
 * are busy. The message of a call is active while the call runs; only the claim on the ledger's row decides whether it runs here.
 */
@Injectable()
export class ToolWorker {
  /** Names this process on the calls it has claimed. */
  readonly owner = processName();
  private readonly clock: Clock = systemClock;
  private readonly slots: ToolSlots;
  private readonly seats: Seat[] = [];
  private cancels: QueueHandler | undefined;
  private registering: Promise<void> = Promise.resolve();
  private unsubscribe: (() => void)[] = [];
  private state: 'idle' | 'taking' | 'stopping' = 'idle';

  constructor(
    private readonly queues: Queues,
    private readonly claims: ExecClaimsRepository,
    private readonly runner: CallRunner,
    @Inject(BUS) private readonly bus: Bus,
    private readonly dead: DeadLetters,
    private readonly telemetry: ToolQueueTelemetry,
    config: Config,
  ) {
    const { TOOL_SLOTS, TOOL_SLOTS_PER_TOOL, TOOL_SLOTS_PER_WORKSPACE } = config.values;
    this.slots = new ToolSlots({
      total: TOOL_SLOTS,
      perTool: TOOL_SLOTS_PER_TOOL,
      perWorkspace: TOOL_SLOTS_PER_WORKSPACE,
    });
  }

  start(): void {
    if (this.state !== 'idle') return;
    this.state = 'taking';
    this.unsubscribe = [
      this.bus.subscribe('tool-queue', ({ queue }) => {
        if (queue === 'requests') this.wake();
      }),
      this.bus.subscribe('tool-cancel', ({ toolCallId }) => {
        this.runner.recheck(({ id }) => id === toolCallId);
      }),
      this.bus.subscribe('job-events', ({ jobId, status }) => {
        if (status === undefined || !isJobStatus(status) || !isTerminal(status)) return;
        this.runner.recheck((call) => call.jobId === jobId);
      }),
      this.bus.onGap(() => {
        this.runner.recheck(() => true);
        this.wake();
      }),
    ];
    this.register(async () => {
      const options = { pollSeconds, minPriority: CANCEL_PRIORITY };
      this.cancels = await this.queues.handleEach(TOOL_QUEUES.requests, options, async (message) => {
        await this.take(message);
        return 'completed';
      });
    });
    this.wake();
  }

  /** Takes no more calls from this moment; those that run have `graceMs` to end. Resolves when none of them is left here. */
  async stop(graceMs: number): Promise<void> {
    this.state = 'stopping';
    for (const off of this.unsubscribe.splice(0)) off();
    await this.registering;
    const handlers = [this.cancels, ...this.seats.map(({ handler }) => handler)];
    await Promise.all([this.runner.drain(graceMs), ...handlers.map((handler) => handler?.stop())]);
    // A call that was claimed at that moment.
    await this.runner.drain(graceMs);
  }

  /** Lets one more handler look for a call. */
  private wake(): void {
    if (this.state !== 'taking') return;
    const idle = this.seats.find(({ isBusy }) => !isBusy);
    if (idle !== undefined) idle.handler?.wake();
    else if (this.seats.length < this.slots.limits.total) this.addSeat();
  }

  private addSeat(): void {
    const seat: Seat = { isBusy: false };
    const options = { groupConcurrency, pollSeconds: this.seats.length === 0 ? pollSeconds : relaxedPollSeconds };
    this.seats.push(seat);
    this.register(async () => {
      seat.handler = await this.queues.handleEach(TOOL_QUEUES.requests, options, async (message) => {
        seat.isBusy = true;
        try {
          // More calls may wait; but what it has given back would only come again.
          if (await this.take(message)) seat.handler?.wake();
          return 'completed';
        } finally {
          seat.isBusy = false;
        }
      });
    });
  }

  private register(work: () => Promise<void>): void {
    this.registering = this.registering.then(work).catch((error: unknown) => {
      this.telemetry.logger.error({ err: error }, 'requests of isolated tools are not handled');
    });
  }

  /** Handles a message, or another one that this process has a slot for: what it cannot run now is left to others. False: there is none. */
  private async take(delivered: Delivery): Promise<boolean> {
    let message: Delivery | undefined = delivered;
    const busy = new Set(this.slots.busyTools);
    while (message !== undefined && !(await this.handle(message))) {
      await this.queues.giveBack(TOOL_QUEUES.requests, message);
      if (message.groupId !== null) busy.add(message.groupId);
      if (this.state !== 'taking') return false;
      [message] = await this.queues.fetch(TOOL_QUEUES.requests, { groupConcurrency, ignoreGroups: [...busy] });
    }
    return message !== undefined;
  }

  /** False: there is no slot for it. Its message is settled here, so that what pg-boss does afterwards finds nothing. */
  private async handle(message: Delivery): Promise<boolean> {
    const request = readRequest(message.data);
    if (request?.type === 'function_request') return this.runIfFree(message, request);
    if (this.state !== 'taking') return false;
    if (request === null) await this.dead.bury(message.data, 'unreadable');
    else this.cancel(request);
    await this.queues.remove(TOOL_QUEUES.requests, message);
    return true;
  }

  private async runIfFree(message: Delivery, request: FunctionRequest): Promise<boolean> {
    const { workspace_id: workspaceId, job_id: jobId, correlation_id: id, tool_name: name } = request;
    if (this.state !== 'taking') return false;
    const release = this.slots.acquire({ tool: message.groupId ?? name, workspaceId });
    if (release === undefined) return false;
    this.wake();
    try {
      const claimedAt = this.clock.monotonic();
      const wanted = { workspaceId, jobId, id, ttlMs: request.metadata.ttl_ms, epoch: request.exec_epoch };
      const [call] = await this.claims.claim([wanted], this.owner);
      if (call !== undefined) await this.runner.run(call, message, claimedAt);
      await this.queues.remove(TOOL_QUEUES.requests, message);
    } finally {
      release();
    }
    return true;
  }

  private cancel({ workspace_id: workspaceId, job_id: jobId, correlation_id: toolCallId }: CancelRequest): void {
    this.bus.publish('tool-cancel', { workspaceId, jobId, toolCallId });
  }
}
