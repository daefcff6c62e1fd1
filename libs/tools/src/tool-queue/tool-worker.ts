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

/** Polls of the first handler, in case every hint is lost, and of the others, which are needed only when several calls run. */
const [pollSeconds, relaxedPollSeconds] = [1, 15];

/** pg-boss counts the running calls of each group. The tier of a message is the `concurrency` of its tool; other tools have no limit. */
const groupConcurrency = {
  default: 1_000_000,
  tiers: Object.fromEntries(Array.from({ length: MOST_CONCURRENT }, (_, i) => [String(i + 1), i + 1])),
};

/** One handler of requests: it runs one call at a time. */
interface CallHandler {
  isBusy: boolean;
  handler?: QueueHandler;
}

/**
 * Runs calls of isolated tools while this process has slots. Each handler of pg-boss runs one call at a time; when all are busy, the worker
 * registers another one. A message is active while its call runs; the claim on the ledger's row decides whether it runs here.
 */
@Injectable()
export class ToolWorker {
  /** Names this process on the calls it has claimed. */
  readonly owner = processName();
  private readonly clock: Clock = systemClock;
  private readonly slots: ToolSlots;
  private readonly callHandlers: CallHandler[] = [];
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

  /** Takes no further calls. Running ones have `graceMs` to end; resolves when none is left in this process. */
  async stop(graceMs: number): Promise<void> {
    this.state = 'stopping';
    for (const off of this.unsubscribe.splice(0)) off();
    await this.registering;
    const handlers = [this.cancels, ...this.callHandlers.map(({ handler }) => handler)];
    await Promise.all([this.runner.drain(graceMs), ...handlers.map((handler) => handler?.stop())]);
    // A call may have been claimed meanwhile.
    await this.runner.drain(graceMs);
  }

  /** Lets one more handler look for a call. */
  private wake(): void {
    if (this.state !== 'taking') return;
    const idle = this.callHandlers.find(({ isBusy }) => !isBusy);
    if (idle !== undefined) idle.handler?.wake();
    else if (this.callHandlers.length < this.slots.limits.total) this.addHandler();
  }

  private addHandler(): void {
    const callHandler: CallHandler = { isBusy: false };
    const options = {
      groupConcurrency,
      pollSeconds: this.callHandlers.length === 0 ? pollSeconds : relaxedPollSeconds,
    };
    this.callHandlers.push(callHandler);
    this.register(async () => {
      callHandler.handler = await this.queues.handleEach(TOOL_QUEUES.requests, options, async (message) => {
        callHandler.isBusy = true;
        try {
          // More calls may wait. After a message was given back, the next fetch would only return it again.
          if (await this.take(message)) callHandler.handler?.wake();
          return 'completed';
        } finally {
          callHandler.isBusy = false;
        }
      });
    });
  }

  private register(work: () => Promise<void>): void {
    this.registering = this.registering.then(work).catch((error: unknown) => {
      this.telemetry.logger.error({ err: error }, 'requests of isolated tools are not handled');
    });
  }

  /** Runs the call of a message. Without a slot for it, gives it back to other processes and fetches another. False: none was run. */
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

  /** False: this process has no slot for the call. Removes the message itself, so pg-boss's own completion finds nothing. */
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
    const tool = request.tool_key ?? message.groupId ?? name;
    const release = this.slots.acquire({ tool, workspaceId });
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

/** What a slot is taken for. */
interface Occupant {
  readonly tool: string;
  readonly workspaceId: string;
}

/** How many calls may run at once: in all, of one tool, of one workspace. All >= 1. */
export interface SlotLimits {
  readonly total: number;
  readonly perTool: number;
  readonly perWorkspace: number;
}

/** The slots of a tool process. A tool, or a workspace, that is at its limit leaves the other slots to the others. */
export class ToolSlots {
  private readonly tools = new Map<string, number>();
  private readonly workspaces = new Map<string, number>();
  private taken = 0;

  constructor(readonly limits: SlotLimits) {}

  get size(): number {
    return this.taken;
  }

  /** Tools at their limit. */
  get busyTools(): string[] {
    return [...this.tools].filter(([, count]) => count >= this.limits.perTool).map(([tool]) => tool);
  }

  /** Acquires a slot and returns its release, which may be called more than once. Undefined: there is none for this tool and workspace. */
  acquire({ tool, workspaceId }: Occupant): (() => void) | undefined {
    const { total, perTool, perWorkspace } = this.limits;
    const isFull =
      this.taken >= total ||
      (this.tools.get(tool) ?? 0) >= perTool ||
      (this.workspaces.get(workspaceId) ?? 0) >= perWorkspace;
    if (isFull) return undefined;
    this.change(tool, workspaceId, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.change(tool, workspaceId, -1);
    };
  }

  private change(tool: string, workspaceId: string, by: 1 | -1): void {
    this.taken += by;
    add(this.tools, tool, by);
    add(this.workspaces, workspaceId, by);
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
