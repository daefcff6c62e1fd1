import { Module, type OnModuleInit } from '@nestjs/common';

import { PrincipalsModule } from '#auth';
import { ChatModule, ExternalChats } from '#chat';
import { IntegrationsModule } from '#integrations';
import { JobsModule, Retention } from '#jobs';
import { ToolsModule } from '#tools';

import { DeliverySender } from '../outbound/deliveries/delivery-sender.js';
import { OutboundModule } from '../outbound/outbound.module.js';
import { SyntrixChat } from './syntrix-chat.js';
import { SyntrixClients } from './syntrix-clients.service.js';
import { SyntrixConnectionsRepository } from './syntrix-connections.repository.js';
import { SyntrixConnectionsService } from './syntrix-connections.service.js';
import { SyntrixDeliveriesRepository } from './syntrix-deliveries.repository.js';
import { SyntrixReceiver } from './syntrix-receiver.service.js';
import { SyntrixStarts } from './syntrix-starts.service.js';

/** Chats whose documents are in a Syntrix database: connections, deliveries, and the jobs that answer. */
@Module({
  imports: [ChatModule, IntegrationsModule, JobsModule, OutboundModule, PrincipalsModule, ToolsModule],
  providers: [
    SyntrixChat,
    SyntrixClients,
    SyntrixConnectionsRepository,
    SyntrixConnectionsService,
    SyntrixDeliveriesRepository,
    SyntrixReceiver,
    SyntrixStarts,
  ],
  exports: [SyntrixChat, SyntrixConnectionsService, SyntrixReceiver],
})
export class SyntrixModule implements OnModuleInit {
  constructor(
    private readonly chats: ExternalChats,
    private readonly chat: SyntrixChat,
    private readonly retention: Retention,
    private readonly deliveries: SyntrixDeliveriesRepository,
    private readonly sender: DeliverySender,
    private readonly receiver: SyntrixReceiver,
  ) {}

  onModuleInit(): void {
    this.chats.register(this.chat);
    this.retention.register(this.deliveries);
    this.sender.registerLocal(this.receiver.receiveLocally);
  }
}
