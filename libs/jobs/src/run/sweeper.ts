import { Inject, Injectable } from '@nestjs/common';

import { Config, LOGGER, type Logger, runParts } from '#platform';

import type { JobRef } from '../job.js';
import { ThreadQueue } from '../thread-queue/thread-queue.js';
import { LeaseRepository } from './lease.repository.js';
import { LostLeases } from './lost-leases.js';

/** Finds jobs that can be claimed although their queue message and hint were lost. */
@Injectable()
export class Sweeper {
  constructor(
    private readonly leases: LeaseRepository,
    private readonly threadQueue: ThreadQueue,
    private readonly lost: LostLeases,
    private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Delay until the next sweep, ms: half a lease, jittered, so that workers started together do not sweep together. */
  nextDelayMs(): number {
    return (this.config.values.LEASE_MS / 2) * (0.75 + Math.random() / 2);
  }

  /**
   * Expires lost leases and advances stuck thread queues, then returns up to `limit` claimable jobs whose message has not arrived in time.
   */
  async sweep(limit: number): Promise<(JobRef & { readonly kind: string })[]> {
    await runParts(
      () => this.lost.end(),
      () => this.threadQueue.advanceStuck(),
    ).catch((err: unknown) => {
      this.logger.warn({ err }, 'claimable jobs are looked for although an earlier part of the sweep failed');
    });
    return this.leases.findRunnable(limit, this.config.values.LEASE_MS / 4);
  }
}
