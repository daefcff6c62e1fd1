import { Inject, Injectable } from '@nestjs/common';

import { Metrics } from '#platform';

import { LeaseRepository } from './run/lease.repository.js';

/** How many unfinished jobs there are, counted when Prometheus asks: the index holds unfinished jobs only. */
@Injectable()
export class JobGauges {
  constructor(metrics: Metrics, @Inject(LeaseRepository) leases: Pick<LeaseRepository, 'countUnfinished'>) {
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
