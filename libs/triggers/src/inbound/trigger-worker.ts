import { Injectable } from '@nestjs/common';

import { type QueueHandler, Queues } from '#platform';

import { DeliveryWorker } from '../outbound/delivery-worker.js';
import { Changes } from './changes.service.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggerStarts } from './trigger-starts.service.js';

const sweptAtOnce = 1_000;

/** Handles the messages of triggers: evaluates changes, starts jobs, and sends what is to be delivered. */
@Injectable()
export class TriggerWorker {
  private handlers: QueueHandler[] = [];

  constructor(
    private readonly queues: Queues,
    private readonly changes: Changes,
    private readonly starts: TriggerStarts,
    private readonly runs: TriggerRunsRepository,
    private readonly deliveries: DeliveryWorker,
  ) {}

  async start(): Promise<void> {
    await this.deliveries.start();
    if (this.handlers.length > 0) return;
    const starts = await this.queues.handle('trigger.start', {}, async (runs) => {
      for (const run of runs) await this.starts.start(run);
    });
    const changes = await this.queues.handle('trigger.changes', {}, async (messages) => {
      for (const { workspaceId } of messages) await this.changes.evaluate(workspaceId);
      starts.wake();
    });
    this.handlers = [starts, changes, await this.queues.handleEachMinute('maintenance.triggers', () => this.sweep())];
  }

  /** Resolves when no handler is running. */
  async stop(): Promise<void> {
    await Promise.all([this.deliveries.stop(), ...this.handlers.splice(0).map((handler) => handler.stop())]);
  }

  /** Starts and evaluates what has lost its message. */
  async sweep(): Promise<void> {
    await this.changes.sweep();
    for (const run of await this.runs.findOverdue(sweptAtOnce)) await this.starts.start(run);
  }
}
