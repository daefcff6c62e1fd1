import { Module } from '@nestjs/common';

import { InboundModule } from './inbound/inbound.module.js';
import { OutboundModule } from './outbound/outbound.module.js';
import { SyntrixModule } from './syntrix/syntrix.module.js';

/** Triggers that start jobs, and webhooks and notifications that report to other systems. */
@Module({
  imports: [InboundModule, OutboundModule, SyntrixModule],
  exports: [InboundModule, OutboundModule, SyntrixModule],
})
export class TriggersModule {}
