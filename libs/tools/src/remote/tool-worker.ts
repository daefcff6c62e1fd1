import { Inject, Injectable } from '@nestjs/common';

import { isJobStatus, isTerminal } from '#jobs';
import {
  BUS,
  type Bus,
  type Clock,
  Config,
  type Delivery,
  type Handled,
  ParallelHandlers,
  processName,
  type QueueHandler,
  Queues,
  Slots,
  systemClock,
  TOOL_QUEUES,
} from '#platform';

import { MAX_CONCURRENT } from '../tool.js';
import { CallRunner } from './call-runner.js';
import { DeadLetters } from './dead-letters.js';
import { ExecClaimsRepository } from './exec-claims.repository.js';
import { type CancelRequest, type FunctionRequest, readRequest } from './queue-message.js';
import { CANCEL_PRIORITY } from './queue-state.repository.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

/** pg-boss counts the running calls of each group. The tier of a message is the `concurrency` of its tool; other tools have no limit. */
const groupConcurrency = {
  default: 1_000_000,
  tiers: Object.fromEntries(Array.from({ length: MAX_CONCURRENT }, (_, i) => [String(i + 1), i + 1])),
};

/**
 * Runs calls of isolated tools while this process has slots. A message is active while its call runs; the claim on the ledger's row decides
 * whether it runs here. If no slot is free for a call, this process gives its message back, so that another process can run it.
 */
@Injectable()
export class ToolWorker {
  /** Names this process on the calls it has claimed. */
  readonly owner = processName();
  private readonly clock: Clock = systemClock;
  private readonly calls: ParallelHandlers<typeof TOOL_QUEUES.requests>;
  private readonly slots: Slots<'tool' | 'workspace'>;
  private cancels: QueueHandler | undefined;
  private starting: Promise<void> | undefined;
  private unsubscribe: (() => void)[] = [];

  constructor(
    private readonly queues: Queues,
    private readonly claims: ExecClaimsRepository,
    private readonly runner: CallRunner,
    @Inject(BUS) private readonly bus: Bus,
    private readonly dead: DeadLetters,
    private readonly telemetry: ToolQueueTelemetry,
    config: Config,
  ) {
    const { TOOL_SLOTS: total, TOOL_SLOTS_PER_TOOL: perTool, TOOL_SLOTS_PER_WORKSPACE: perWorkspace } = config.values;
    this.slots = new Slots({ total, perValue: { tool: perTool, workspace: perWorkspace } });
    const acquire = (message: Delivery) => this.acquire(message);
    const options = { queue: TOOL_QUEUES.requests, slots: total, groupConcurrency, acquire } as const;
    this.calls = new ParallelHandlers<typeof TOOL_QUEUES.requests>(queues, options, (message) => this.handle(message));
  }

  start(): void {
    if (this.starting !== undefined) return;
    this.unsubscribe = [
      this.bus.subscribe('tool-queue', ({ queue }) => {
        if (queue === 'requests') this.calls.wake();
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
        this.calls.wake();
      }),
    ];
    this.starting = this.register().catch((error: unknown) => {
      this.telemetry.logger.error({ err: error }, 'requests of isolated tools are not handled');
    });
  }

  /** Takes no further calls. Running ones have `graceMs` to end; resolves when none is left in this process. */
  async stop(graceMs: number): Promise<void> {
    for (const off of this.unsubscribe.splice(0)) off();
    await this.starting;
    await Promise.all([this.runner.drain(graceMs), this.calls.stop(), this.cancels?.stop()]);
    // A call may have been claimed meanwhile.
    await this.runner.drain(graceMs);
  }

  /** A cancel needs no slot: a separate handler processes it even while all slots are occupied. */
  private async register(): Promise<void> {
    const cancels = { minPriority: CANCEL_PRIORITY };
    this.cancels = await this.queues.handleEach(TOOL_QUEUES.requests, cancels, (message) => this.handle(message));
    await this.calls.start();
  }

  private acquire(message: Delivery): (() => void) | undefined {
    const request = readRequest(message.data);
    if (request?.type !== 'function_request') return () => undefined;
    const { tool_key: key, tool_name: name, workspace_id: workspaceId } = request;
    return this.slots.acquire({ tool: key ?? message.groupId ?? name, workspace: workspaceId });
  }

  private async handle(message: Delivery): Promise<Handled> {
    const request = readRequest(message.data);
    if (request === null) await this.dead.store(message.data, 'unreadable');
    else if (request.type === 'function_request') await this.run(message, request);
    else this.cancel(request);
    await this.queues.remove(TOOL_QUEUES.requests, message);
    return 'completed';
  }

  private async run(message: Delivery, request: FunctionRequest): Promise<void> {
    const { workspace_id: workspaceId, job_id: jobId, correlation_id: id, exec_epoch: epoch, metadata } = request;
    const claimedAt = this.clock.monotonic();
    const wanted = { workspaceId, jobId, id, ttlMs: metadata.ttl_ms, epoch };
    const [call] = await this.claims.claim([wanted], this.owner);
    if (call !== undefined) await this.runner.run(call, message, claimedAt);
  }

  private cancel({ workspace_id: workspaceId, job_id: jobId, correlation_id: toolCallId }: CancelRequest): void {
    this.bus.publish('tool-cancel', { workspaceId, jobId, toolCallId });
  }
}
