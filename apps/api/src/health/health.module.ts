import { Module } from '@nestjs/common';

import { ToolsModule } from '#tools';

import { BusProbe } from './bus-probe.js';
import { HealthController } from './health.controller.js';
import { HealthRepository } from './health.repository.js';
import { Readiness } from './readiness.js';

/** Liveness, readiness and metrics. */
@Module({
  imports: [ToolsModule],
  controllers: [HealthController],
  providers: [BusProbe, HealthRepository, Readiness],
  exports: [Readiness],
})
export class HealthModule {}
