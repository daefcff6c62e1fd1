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
  RESULT_RETRIES,
  systemClock,
  type Timer,
  TOOL_QUEUES,
} from '#platform';

import { ResultHooks } from '../hooks/result-hooks.js';
import { DeadLetters, type DeadReason } from './dead-letters.js';
import { hasFiles, readResult, type ToolProgressMessage, type ToolResponse, withoutFiles } from './queue-message.js';
import { ResultApplier } from './result-applier.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

const batchSize = 50;
/** Maximum number of results that are handled at once, if hooks exist. */
const hookedSlots = 20;
/**
 * Retries take about half a minute. Those while the database or the file storage is unavailable count, but do not make the message a dead
 * letter.
 */
const maxRetries = 5;
/** Maximum number of deferred progress updates; further ones are dropped. */
const maxDeferred = 1_000;

/**
 * Handles the messages of tool processes, in every process that runs jobs. pg-boss retries a response that cannot be applied, and it becomes
 * a dead letter after half a minute: its call is handled by its effect once its claim expires. While the database or the file storage is
 * unavailable, a response becomes a dead letter only after a day.
 */
@Injectable()
export class ToolResults extends QueueWorker {
  private readonly clock: Clock = systemClock;
  private readonly deferred = new Set<Timer>();
  private readonly applying = new Set<Promise<void>>();

  constructor(
    private readonly queues: Queues,
    private readonly applier: ResultApplier,
    private readonly letters: DeadLetters,
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
   * Hooks may take long, and a batch is fetched only after the previous one has ended. So with hooks, each result is handled separately and
   * delays no other. Without hooks, handling the results of a workspace one after another is fast enough, except for results with files.
   */
  private async openResults(): Promise<QueueHandler> {
    const { results } = TOOL_QUEUES;
    const handle = (message: Delivery) => this.handle(message);
    if (!this.hooks.areSet) return this.queues.handleEach(results, { batchSize, sequenceOf }, handle);
    const handlers = new ParallelHandlers(this.queues, { queue: results, slots: hookedSlots }, handle);
    await handlers.start();
    return handlers;
  }

  private async handle({ data, retryCount }: Delivery): Promise<Handled> {
    const message = readResult(data);
    if (message === null) return this.giveUp(data, 'unreadable');
    try {
      return await this.apply(message);
    } catch (error) {
      const isUnavailable = error instanceof AppError && error.code === 'unavailable';
      if (retryCount < (isUnavailable ? RESULT_RETRIES : maxRetries)) throw error;
      this.telemetry.logger.error({ err: error, toolCallId: message.correlation_id }, 'a tool result was not applied');
      return this.giveUp(data, 'not_applied');
    }
  }

  /** A dead letter is stored for two weeks, so it must not contain the contents of files, which pg-boss would move with the message. */
  private async giveUp(data: unknown, reason: DeadReason): Promise<Handled> {
    if (!hasFiles(data)) return { deadLetter: reason };
    await this.letters.store(withoutFiles(data), reason);
    return 'completed';
  }

  private async apply(message: ToolProgressMessage | ToolResponse): Promise<Handled> {
    const applied = await this.applier.apply({ message, ageMs: 0 });
    // The retention deletes jobs; a response to a deleted job belongs to no workspace.
    if (applied === 'unknown')
      return message.type === 'tool_response' ? this.giveUp(message, 'unknown_call') : 'completed';
    if (applied !== 'done' && message.type === 'tool_progress')
      this.defer(message, this.clock.monotonic(), applied.againInMs);
    return 'completed';
  }

  /** Progress is for display only: this process defers it in memory, and loses it when the process ends. */
  private defer(message: ToolProgressMessage, since: number, delayMs: number): void {
    if (this.deferred.size >= maxDeferred) return;
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

/** Storing the files of a response may take seconds, so it delays no other result. */
function sequenceOf({ id, data }: Delivery): string {
  if (hasFiles(data)) return id;
  return data !== null && 'workspace_id' in data ? String(data.workspace_id) : '';
}
