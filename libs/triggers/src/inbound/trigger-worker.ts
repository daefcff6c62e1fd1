import { Injectable } from '@nestjs/common';

import { type QueueHandler, Queues } from '#platform';

import { DeliveryWorker } from '../outbound/delivery-worker.js';
import { SyntrixChat } from '../syntrix/syntrix-chat.js';
import { Changes } from './changes.service.js';
import { OwnRowHints } from './own-row-hints.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggerStarts } from './trigger-starts.service.js';

const sweptAtOnce = 1_000;
/** Runs that this process starts at once. */
const startedAtOnce = 10;

/** Handles the messages of triggers: evaluates changes, starts jobs, sends what is to be delivered, and writes the ends of Syntrix jobs. */
@Injectable()
export class TriggerWorker {
  private handlers: QueueHandler[] = [];
  private leaveBus: (() => void) | undefined;

  constructor(
    private readonly queues: Queues,
    private readonly changes: Changes,
    private readonly starts: TriggerStarts,
    private readonly runs: TriggerRunsRepository,
    private readonly deliveries: DeliveryWorker,
    private readonly syntrix: SyntrixChat,
    private readonly hints: OwnRowHints,
  ) {}

  async start(): Promise<void> {
    await this.deliveries.start();
    if (this.handlers.length > 0) return;
    const starts = await this.queues.handle('trigger.start', { batchSize: startedAtOnce }, async (runs) => {
      const ends = await Promise.allSettled(runs.map((run) => this.starts.start(run)));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed !== undefined) throw failed.reason; // the messages are delivered again; a run that is settled does nothing
    });
    const changes = await this.queues.handle('trigger.changes', {}, async (messages) => {
      for (const { workspaceId } of messages) await this.changes.evaluate(workspaceId);
      starts.wake();
    });
    this.leaveBus = this.hints.listen(() => {
      changes.wake();
    });
    const ends = await this.queues.handle('job.external-end', {}, async (jobs) => {
      for (const job of jobs) await this.syntrix.writeEnd(job);
    });
    this.handlers = [
      starts,
      changes,
      ends,
      await this.queues.handleEachMinute('maintenance.triggers', () => this.sweep()),
    ];
  }

  /** Resolves when no handler is running. */
  async stop(): Promise<void> {
    this.leaveBus?.();
    this.leaveBus = undefined;
    await Promise.all([this.deliveries.stop(), ...this.handlers.splice(0).map((handler) => handler.stop())]);
  }

  /** Starts and evaluates what has lost its message. */
  async sweep(): Promise<void> {
    await this.changes.sweep();
    for (const run of await this.runs.findOverdue(sweptAtOnce)) await this.starts.start(run);
  }
}
