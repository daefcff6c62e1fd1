import { Module } from '@nestjs/common';

/** Webhook endpoints of workspaces, and the deliveries to them and to triggers. */
@Module({})
export class OutboundModule {}
