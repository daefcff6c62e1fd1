import { Inject, Injectable } from '@nestjs/common';

import { Config, Metrics } from '#platform';

import { LeaseRepository } from './run/lease.repository.js';

/** How many unfinished jobs there are, counted when Prometheus asks: the index holds unfinished jobs only. */
@Injectable()
export class JobGauges {
  constructor(
    metrics: Metrics,
    @Inject(LeaseRepository) leases: Pick<LeaseRepository, 'countUnfinished'>,
    config: Config,
  ) {
    if (config.values.ROLE === 'tools') return; // its login does not see jobs
    metrics.gaugeOnScrape('nightshift_jobs', 'Unfinished jobs of all workspaces, by status', {
      labelNames: ['status'],
      fill: async (gauge) => {
        const counts = await leases.countUnfinished();
        gauge.reset();
        for (const { status, jobs } of counts) gauge.set({ status }, jobs);
      },
    });
  }
}
