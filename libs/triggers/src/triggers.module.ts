import { Module } from '@nestjs/common';

import { InboundModule } from './inbound/inbound.module.js';
import { OutboundModule } from './outbound/outbound.module.js';
import { SyntrixModule } from './syntrix/syntrix.module.js';

/** Work that starts by itself, and what tells other systems about it. */
@Module({
  imports: [InboundModule, OutboundModule, SyntrixModule],
  exports: [InboundModule, OutboundModule, SyntrixModule],
})
export class TriggersModule {}
