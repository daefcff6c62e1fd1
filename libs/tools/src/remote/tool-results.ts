import { Inject, Injectable } from '@nestjs/common';

import {
  AppError,
  BUS,
  type Bus,
  type Clock,
  type Delivery,
  type Handled,
  ParallelHandlers,
  type QueueHandler,
  Queues,
  QueueWorker,
  systemClock,
  type Timer,
  TOOL_QUEUES,
} from '#platform';

import { ResultHooks } from '../hooks/result-hooks.js';
import { readResult, type ToolProgressMessage, type ToolResponse } from './queue-message.js';
import { ResultApplier } from './result-applier.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

const batchSize = 50;
/** Results that are handled at once where hooks are set. */
const hookedSlots = 20;
/** Over about half a minute. Retries while the database is unavailable count, but end nothing. */
const mostRetries = 5;
/** Progress that may be kept for a moment; more is dropped. */
const mostDeferred = 1_000;

/**
 * Handles what tool processes send back, in every process that runs jobs. A response that cannot be applied is retried by pg-boss, and
 * becomes a dead letter after half a minute: the call it is about follows its effect once its claim runs out. While the database is
 * unavailable, no result becomes a dead letter.
 */
@Injectable()
export class ToolResults extends QueueWorker {
  private readonly clock: Clock = systemClock;
  private readonly deferred = new Set<Timer>();
  private readonly applying = new Set<Promise<void>>();

  constructor(
    private readonly queues: Queues,
    private readonly applier: ResultApplier,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: ToolQueueTelemetry,
    private readonly hooks: ResultHooks,
  ) {
    super();
  }

  protected async open() {
    const handler = await this.openResults();
    const hints = this.bus.subscribe('tool-queue', ({ queue }) => {
      if (queue === 'results') handler.wake();
    });
    return [{ stop: hints }, handler];
  }

  override async stop(): Promise<void> {
    await super.stop();
    for (const timer of this.deferred) timer.cancel();
    this.deferred.clear();
    await Promise.all(this.applying);
  }

  /**
   * Hooks may take long, and the next batch is fetched when the one before it has ended: with hooks, each result is handled on its own, so
   * that it delays no other one. Without them, one result after another is fast enough.
   */
  private async openResults(): Promise<QueueHandler> {
    const { results } = TOOL_QUEUES;
    const handle = (message: Delivery) => this.handle(message);
    if (!this.hooks.areSet) return this.queues.handleEach(results, { batchSize }, handle);
    const handlers = new ParallelHandlers(this.queues, { queue: results, slots: hookedSlots }, handle);
    await handlers.start();
    return handlers;
  }

  private async handle({ data, retryCount }: Delivery): Promise<Handled> {
    const message = readResult(data);
    if (message === null) return { deadLetter: 'unreadable' };
    try {
      return await this.apply(message);
    } catch (error) {
      const isUnavailable = error instanceof AppError && error.code === 'unavailable';
      if (isUnavailable || retryCount < mostRetries) throw error;
      this.telemetry.logger.error({ err: error, toolCallId: message.correlation_id }, 'a tool result was not applied');
      return { deadLetter: 'not_applied' };
    }
  }

  private async apply(message: ToolProgressMessage | ToolResponse): Promise<Handled> {
    const applied = await this.applier.apply({ message, ageMs: 0 });
    // Jobs are deleted after a while; a response to a deleted job belongs to no workspace.
    if (applied === 'unknown') return message.type === 'tool_response' ? { deadLetter: 'unknown_call' } : 'completed';
    if (applied !== 'done' && message.type === 'tool_progress')
      this.defer(message, this.clock.monotonic(), applied.againInMs);
    return 'completed';
  }

  /** Progress is display only: this process keeps it for a moment, and it is lost with the process. */
  private defer(message: ToolProgressMessage, since: number, delayMs: number): void {
    if (this.deferred.size >= mostDeferred) return;
    const timer = this.clock.after(delayMs, () => {
      this.deferred.delete(timer);
      const applying = this.applyLater(message, since).finally(() => this.applying.delete(applying));
      this.applying.add(applying);
    });
    this.deferred.add(timer);
  }

  private async applyLater(message: ToolProgressMessage, since: number): Promise<void> {
    try {
      const applied = await this.applier.apply({ message, ageMs: this.clock.monotonic() - since });
      if (typeof applied === 'object') this.defer(message, since, applied.againInMs);
    } catch (error) {
      this.telemetry.logger.warn({ err: error, toolCallId: message.correlation_id }, 'progress of a tool was dropped');
    }
  }
}
