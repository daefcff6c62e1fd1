import { Injectable } from '@nestjs/common';

import { Config, ParallelHandlers, type QueueHandler, Queues } from '#platform';

import { Deliveries } from './deliveries.service.js';
import { DeliverySender } from './delivery-sender.js';
import { NotificationDispatcher } from './notifications/notification-dispatcher.js';

/** Sends to one endpoint at once, in the whole installation. */
const sendsPerEndpoint = 4;
const mostConcurrent = 64;

/** The tier of a message is the `concurrency` of its trigger; messages of endpoints have none. */
const groupConcurrency = {
  default: sendsPerEndpoint,
  tiers: Object.fromEntries(Array.from({ length: mostConcurrent }, (_, i) => [String(i + 1), i + 1])),
};

/** Handles the messages of webhooks: pg-boss delivers them when they are due, and limits those of one endpoint or trigger. */
@Injectable()
export class DeliveryWorker {
  private readonly handlers: ParallelHandlers<'webhook.deliver'>;
  private sweeps: QueueHandler | undefined;

  constructor(
    private readonly queues: Queues,
    private readonly deliveries: Deliveries,
    private readonly notifications: NotificationDispatcher,
    sender: DeliverySender,
    config: Config,
  ) {
    const options = { queue: 'webhook.deliver', slots: config.values.WEBHOOK_SLOTS, groupConcurrency } as const;
    this.handlers = new ParallelHandlers(queues, options, async ({ data: { number, ...ref } }) => {
      await sender.send(ref, number);
      return 'completed';
    });
  }

  async start(): Promise<void> {
    await this.handlers.start();
    await this.notifications.start();
    this.sweeps ??= await this.queues.handleEachMinute('maintenance.webhooks', () => this.deliveries.sweep());
  }

  /** Resolves when no webhook is being sent by this process: after at most 30 s. */
  async stop(): Promise<void> {
    await Promise.all([this.handlers.stop(), this.notifications.stop(), this.sweeps?.stop()]);
    this.sweeps = undefined;
  }
}
