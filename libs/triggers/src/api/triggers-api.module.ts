import { Module } from '@nestjs/common';

import { TriggersModule } from '../triggers.module.js';

/** Triggers, webhook endpoints and their deliveries. */
@Module({ imports: [TriggersModule] })
export class TriggersApiModule {}
