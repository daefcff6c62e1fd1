import { Module } from '@nestjs/common';

import { Config, systemClock } from '#platform';

import { StartLimiter } from './start-limiter.js';
import { HitlLimiter, WorkflowStartLimiter } from './workflow-limiters.js';

/** Limits of what callers may ask for in a time, shared by all doors. */
@Module({
  providers: [
    {
      provide: StartLimiter,
      useFactory: (config: Config) => new StartLimiter(config.values.STARTS_PER_MINUTE, systemClock),
      inject: [Config],
    },
    {
      provide: WorkflowStartLimiter,
      useFactory: (config: Config) => new WorkflowStartLimiter(config.values.WORKFLOW_STARTS_PER_MINUTE, systemClock),
      inject: [Config],
    },
    {
      provide: HitlLimiter,
      useFactory: (config: Config) => new HitlLimiter(config.values.HITL_ANSWERS_PER_MINUTE, systemClock),
      inject: [Config],
    },
  ],
  exports: [HitlLimiter, StartLimiter, WorkflowStartLimiter],
})
export class LimitsModule {}
