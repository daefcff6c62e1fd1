import { Module } from '@nestjs/common';

import { Authenticator } from '#auth';
import { Config, Metrics, systemClock } from '#platform';

import { clientAddressKeys } from './client-address.js';
import { RefusalDelay, type RefusalDelayDependencies } from './refusal-delay.js';

/** The delay of refused requests, shared by all APIs. */
@Module({
  providers: [
    {
      provide: RefusalDelay,
      useFactory: (authenticator: Authenticator, { values }: Config, metrics: Metrics) =>
        new RefusalDelay({
          perSecond: values.REFUSALS_PER_SECOND,
          addressKeyOf: clientAddressKeys(values.TRUSTED_PROXIES),
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

/** Registers the metric of refused requests beyond `REFUSALS_PER_SECOND`. */
export function refusalDelayCount(metrics: Metrics): RefusalDelayDependencies['count'] {
  const counter = metrics.counter(
    'nightshift_refusals_delayed_total',
    'Refused requests beyond REFUSALS_PER_SECOND, by outcome: response delayed, or connection closed without one.',
    ['outcome'],
  );
  return (outcome) => {
    counter.inc({ outcome });
  };
}
