import { Injectable } from '@nestjs/common';

import { Config, ParallelHandlers, Queues, QueueWorker, Slots } from '#platform';

import { NotificationDispatcher } from '../notifications/notification-dispatcher.js';
import { Deliveries } from './deliveries.service.js';
import { DeliverySender } from './delivery-sender.js';

/** Maximum parallel sends to one endpoint, in the whole installation. */
const sendsPerEndpoint = 4;
const maxConcurrent = 64;

/** The tier of a message is the `concurrency` of its trigger; messages of endpoints have none. */
const groupConcurrency = {
  default: sendsPerEndpoint,
  tiers: Object.fromEntries(Array.from({ length: maxConcurrent }, (_, i) => [String(i + 1), i + 1])),
};

/** Handles the messages of webhooks: pg-boss delivers them when they are due, and limits those of one endpoint or trigger. */
@Injectable()
export class DeliveryWorker extends QueueWorker {
  private readonly handlers: ParallelHandlers<'webhook.deliver'>;

  constructor(
    private readonly queues: Queues,
    private readonly deliveries: Deliveries,
    private readonly notifications: NotificationDispatcher,
    sender: DeliverySender,
    config: Config,
  ) {
    super();
    const { WEBHOOK_SLOTS: total, WEBHOOK_SLOTS_PER_WORKSPACE: workspace } = config.values;
    // The limit per workspace keeps slots free for others when the receivers of one workspace do not respond.
    const slots = new Slots({ total, perValue: { workspace } });
    this.handlers = new ParallelHandlers<'webhook.deliver'>(
      queues,
      {
        ...{ queue: 'webhook.deliver', slots: total, groupConcurrency },
        acquire: ({ data }) => slots.acquire({ workspace: data.workspaceId }),
      },
      async ({ data: { number, ...ref } }) => {
        await sender.send(ref, number);
        return 'completed';
      },
    );
  }

  /** A webhook is sent for at most 30 s. */
  protected async open() {
    await this.handlers.start();
    await this.notifications.start();
    const sweeps = await this.queues.handleEachMinute('maintenance.webhooks', () => this.deliveries.sweep());
    return [this.handlers, this.notifications, sweeps];
  }
}
