import { Module } from '@nestjs/common';

import { Config, RateCountersRepository, type RateLimit, type Settings, SharedRate, systemClock } from '#platform';

import { StartLimiter } from './start-limiter.js';
import { HitlLimiter, WorkflowStartLimiter } from './workflow-limiters.js';

const inject = [RateCountersRepository, Config];

type RateSetting = Extract<keyof Settings, `${string}_PER_MINUTE${string}`>;

/** A rate limit of the operator. `key` identifies its counter; `counts` describes the counted things in error messages. */
const rate = (
  [counters, { values }]: readonly [RateCountersRepository, Config],
  setting: RateSetting,
  { key, counts }: { readonly key: string; readonly counts: string },
) => {
  const value = values[setting];
  const limit: RateLimit = { name: setting, value, raisedBy: 'operator', counts: `${counts} in a minute` };
  return new SharedRate(counters.counter(key, value), limit, systemClock);
};

/** Rate limits of callers, shared by all APIs and all API processes. */
@Module({
  providers: [
    {
      provide: StartLimiter,
      useFactory: (...from: [RateCountersRepository, Config]) =>
        new StartLimiter(
          rate(from, 'STARTS_PER_MINUTE', { key: 'starts-user', counts: 'job starts of a user' }),
          rate(from, 'STARTS_PER_MINUTE_PER_WORKSPACE', {
            key: 'starts-workspace',
            counts: 'job starts of a workspace',
          }),
        ),
      inject,
    },
    {
      provide: WorkflowStartLimiter,
      useFactory: (...from: [RateCountersRepository, Config]) =>
        new WorkflowStartLimiter(
          rate(from, 'WORKFLOW_STARTS_PER_MINUTE', {
            key: 'workflow-starts-user',
            counts: 'workflow starts of a user',
          }),
          rate(from, 'WORKFLOW_STARTS_PER_MINUTE_PER_WORKSPACE', {
            key: 'workflow-starts-workspace',
            counts: 'workflow starts of a workspace',
          }),
        ),
      inject,
    },
    {
      provide: HitlLimiter,
      useFactory: (...from: [RateCountersRepository, Config]) =>
        new HitlLimiter(
          rate(from, 'HITL_ANSWERS_PER_MINUTE', { key: 'hitl-answers-user', counts: 'answers of a user' }),
        ),
      inject,
    },
  ],
  exports: [HitlLimiter, StartLimiter, WorkflowStartLimiter],
})
export class LimitsModule {}
