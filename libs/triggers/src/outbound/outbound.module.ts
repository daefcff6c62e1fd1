import { Injectable, Module, type OnModuleInit } from '@nestjs/common';

import { IntegrationsModule } from '#integrations';
import { JobsModule, Retention } from '#jobs';

import { DeliveriesRepository } from './deliveries.repository.js';
import { Deliveries } from './deliveries.service.js';
import { DeliverySender } from './delivery-sender.js';
import { DeliveryWorker } from './delivery-worker.js';
import { EndpointHealthRepository } from './endpoint-health.repository.js';
import { WebhookClient } from './webhook-client.js';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository.js';
import { WebhookEndpoints } from './webhook-endpoints.service.js';

/** Registers the retention of deliveries. */
@Injectable()
class DeliveryRetention implements OnModuleInit {
  constructor(
    private readonly retention: Retention,
    private readonly endpoints: WebhookEndpoints,
  ) {}

  onModuleInit(): void {
    this.retention.register(this.endpoints);
  }
}

/** Webhooks that the server sends. Requires a global `PlatformModule`. */
@Module({
  imports: [IntegrationsModule, JobsModule],
  providers: [
    Deliveries,
    DeliveriesRepository,
    DeliveryRetention,
    DeliverySender,
    DeliveryWorker,
    EndpointHealthRepository,
    WebhookClient,
    WebhookEndpoints,
    WebhookEndpointsRepository,
  ],
  exports: [Deliveries, DeliverySender, DeliveryWorker, WebhookClient, WebhookEndpoints],
})
export class OutboundModule {}
