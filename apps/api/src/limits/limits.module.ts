import { Module } from '@nestjs/common';

import { Config, systemClock } from '#platform';

import { StartLimiter } from './start-limiter.js';

/** Limits of what callers may ask for in a time, shared by all doors. */
@Module({
  providers: [
    {
      provide: StartLimiter,
      useFactory: (config: Config) => new StartLimiter(config.values.STARTS_PER_MINUTE, systemClock),
      inject: [Config],
    },
  ],
  exports: [StartLimiter],
})
export class LimitsModule {}
