import { Module } from '@nestjs/common';

/** Triggers: conditions over changes, and the jobs that they start. */
@Module({})
export class InboundModule {}
