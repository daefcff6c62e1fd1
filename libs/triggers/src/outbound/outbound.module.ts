import { Module } from '@nestjs/common';

import { IntegrationsModule } from '#integrations';

import { DeliveriesRepository } from './deliveries.repository.js';
import { Deliveries } from './deliveries.service.js';
import { DeliverySender } from './delivery-sender.js';
import { DeliveryWorker } from './delivery-worker.js';
import { EndpointHealthRepository } from './endpoint-health.repository.js';
import { WebhookClient } from './webhook-client.js';

/** Webhooks that the server sends. Requires a global `PlatformModule`. */
@Module({
  imports: [IntegrationsModule],
  providers: [
    Deliveries,
    DeliveriesRepository,
    DeliverySender,
    DeliveryWorker,
    EndpointHealthRepository,
    WebhookClient,
  ],
  exports: [Deliveries, DeliverySender, DeliveryWorker],
})
export class OutboundModule {}
