import { Module } from '@nestjs/common';

import { TriggersModule } from '../triggers.module.js';
import { WebhooksResolver } from './webhooks.resolver.js';

/** Triggers, webhook endpoints and their deliveries. */
@Module({ imports: [TriggersModule], providers: [WebhooksResolver] })
export class TriggersApiModule {}
