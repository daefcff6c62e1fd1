import { Module } from '@nestjs/common';

import { TriggersModule } from '../triggers.module.js';
import { SyntrixConnectionsResolver } from './syntrix/syntrix-connections.resolver.js';
import { SyntrixWebhooksController } from './syntrix/syntrix-webhooks.controller.js';
import { HooksController, TriggersController } from './triggers.controller.js';
import { TriggersResolver } from './triggers.resolver.js';
import { WebhooksResolver } from './webhooks.resolver.js';

/** Triggers, webhook endpoints and their deliveries. */
@Module({
  imports: [TriggersModule],
  controllers: [HooksController, SyntrixWebhooksController, TriggersController],
  providers: [SyntrixConnectionsResolver, TriggersResolver, WebhooksResolver],
})
export class TriggersApiModule {}
