import { Module } from '@nestjs/common';

import { TriggersModule } from '../triggers.module.js';
import { NotificationChannelsResolver } from './notification-channels.resolver.js';
import { OwnDocumentsController } from './own-documents.controller.js';
import { SyntrixConnectionsResolver } from './syntrix/syntrix-connections.resolver.js';
import { SyntrixWebhooksController } from './syntrix/syntrix-webhooks.controller.js';
import { HooksController, TriggersController } from './triggers.controller.js';
import { TriggersResolver } from './triggers.resolver.js';
import { UnsubscribeController } from './unsubscribe.controller.js';
import { WebhooksResolver } from './webhooks.resolver.js';

/** Triggers, webhook endpoints and their deliveries, and notification channels. */
@Module({
  imports: [TriggersModule],
  controllers: [
    HooksController,
    OwnDocumentsController,
    SyntrixWebhooksController,
    TriggersController,
    UnsubscribeController,
  ],
  providers: [NotificationChannelsResolver, SyntrixConnectionsResolver, TriggersResolver, WebhooksResolver],
})
export class TriggersApiModule {}
