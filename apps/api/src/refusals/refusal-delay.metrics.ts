import type { Metrics } from '#platform';

import type { RefusalDelayDependencies } from './refusal-delay.js';

/** Registers the count of requests beyond the rate of their address. */
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
