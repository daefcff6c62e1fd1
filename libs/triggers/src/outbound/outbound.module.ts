import { Module, type OnModuleInit } from '@nestjs/common';

import { IntegrationsModule } from '#integrations';
import { JobsModule, Retention } from '#jobs';

import { DeliveriesRepository } from './deliveries.repository.js';
import { Deliveries } from './deliveries/deliveries.service.js';
import { DeliverySender } from './deliveries/delivery-sender.js';
import { DeliveryWorker } from './deliveries/delivery-worker.js';
import { DeliveryRate } from './delivery-rate.js';
import { EndpointHealthRepository } from './endpoint-health.repository.js';
import { ChannelDeliveriesRepository } from './notifications/channel-deliveries.repository.js';
import { ChannelSender } from './notifications/channel-sender.js';
import { Mailer } from './notifications/mailer.js';
import { NotificationChannelsRepository } from './notifications/notification-channels.repository.js';
import { NotificationChannels } from './notifications/notification-channels.service.js';
import { NotificationDispatch } from './notifications/notification-dispatch.service.js';
import { NotificationDispatcher } from './notifications/notification-dispatcher.js';
import { UnsubscribeLinks } from './notifications/unsubscribe-links.js';
import { PreIssuedTokens } from './pre-issued-tokens.js';
import { WebhookClient } from './webhook-client.js';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository.js';
import { WebhookEndpoints } from './webhook-endpoints.service.js';

/** Webhooks that the server sends. Requires a global `PlatformModule`. */
@Module({
  imports: [IntegrationsModule, JobsModule],
  providers: [
    ChannelDeliveriesRepository,
    ChannelSender,
    Mailer,
    NotificationChannels,
    NotificationChannelsRepository,
    NotificationDispatch,
    NotificationDispatcher,
    UnsubscribeLinks,
    Deliveries,
    DeliveriesRepository,
    DeliveryRate,
    DeliverySender,
    DeliveryWorker,
    EndpointHealthRepository,
    PreIssuedTokens,
    WebhookClient,
    WebhookEndpoints,
    WebhookEndpointsRepository,
  ],
  exports: [
    Deliveries,
    DeliverySender,
    DeliveryWorker,
    NotificationChannels,
    PreIssuedTokens,
    UnsubscribeLinks,
    WebhookClient,
    WebhookEndpoints,
  ],
})
export class OutboundModule implements OnModuleInit {
  constructor(
    private readonly retention: Retention,
    private readonly endpoints: WebhookEndpoints,
  ) {}

  onModuleInit(): void {
    this.retention.register(this.endpoints);
  }
}
