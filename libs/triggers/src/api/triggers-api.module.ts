import { Module } from '@nestjs/common';

import { TriggersModule } from '../triggers.module.js';
import { SyntrixConnectionsResolver } from './syntrix/syntrix-connections.resolver.js';
import { SyntrixWebhooksController } from './syntrix/syntrix-webhooks.controller.js';
import { WebhooksResolver } from './webhooks.resolver.js';

/** Triggers, webhook endpoints and their deliveries. */
@Module({
  imports: [TriggersModule],
  controllers: [SyntrixWebhooksController],
  providers: [SyntrixConnectionsResolver, WebhooksResolver],
})
export class TriggersApiModule {}
