import { Module } from '@nestjs/common';

import { Authenticator } from '#auth';
import { Config, Metrics, systemClock } from '#platform';

import { RefusalDelay } from './refusal-delay.js';
import { refusalDelayCount } from './refusal-delay.metrics.js';

/** The delay of refused requests, which every API shares. */
@Module({
  providers: [
    {
      provide: RefusalDelay,
      useFactory: (authenticator: Authenticator, { values }: Config, metrics: Metrics) =>
        new RefusalDelay({
          perSecond: values.REFUSALS_PER_SECOND,
          isValid: (authorization) => isValid(authenticator, authorization),
          clock: systemClock,
          count: refusalDelayCount(metrics),
        }),
      inject: [Authenticator, Config, Metrics],
    },
  ],
  exports: [RefusalDelay],
})
export class RefusalsModule {}

async function isValid(authenticator: Authenticator, authorization: string): Promise<boolean> {
  try {
    await authenticator.identify({ authorization });
    return true;
  } catch {
    return false;
  }
}
