import { Module } from '@nestjs/common';

import { Config, systemClock } from '#platform';

import { RateCountersRepository } from './rate-counters.repository.js';
import { SharedRate } from './shared-rate.js';
import { StartLimiter } from './start-limiter.js';
import { HitlLimiter, WorkflowStartLimiter } from './workflow-limiters.js';

const inject = [RateCountersRepository, Config];
const rate = (counters: RateCountersRepository, name: string, limit: number) =>
  new SharedRate(counters.counter(name, limit), limit, systemClock);

/** Rate limits of callers, shared by all APIs and all API processes. */
@Module({
  providers: [
    RateCountersRepository,
    {
      provide: StartLimiter,
      useFactory: (counters: RateCountersRepository, { values }: Config) =>
        new StartLimiter(
          rate(counters, 'starts-user', values.STARTS_PER_MINUTE),
          rate(counters, 'starts-workspace', values.STARTS_PER_MINUTE_PER_WORKSPACE),
        ),
      inject,
    },
    {
      provide: WorkflowStartLimiter,
      useFactory: (counters: RateCountersRepository, { values }: Config) =>
        new WorkflowStartLimiter(
          rate(counters, 'workflow-starts-user', values.WORKFLOW_STARTS_PER_MINUTE),
          rate(counters, 'workflow-starts-workspace', values.WORKFLOW_STARTS_PER_MINUTE_PER_WORKSPACE),
        ),
      inject,
    },
    {
      provide: HitlLimiter,
      useFactory: (counters: RateCountersRepository, { values }: Config) =>
        new HitlLimiter(rate(counters, 'hitl-answers-user', values.HITL_ANSWERS_PER_MINUTE)),
      inject,
    },
  ],
  exports: [HitlLimiter, StartLimiter, WorkflowStartLimiter],
})
export class LimitsModule {}
