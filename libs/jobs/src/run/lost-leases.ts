import { Inject, Injectable } from '@nestjs/common';

import { hasEnded, LOGGER, type Logger } from '#platform';

import { LostLeasesRepository } from './lost-leases.repository.js';

/**
 * Nobody waits for a lease whose process has surely ended: it runs out at once. What that process had under way in Postgres may still
 * be written, also a claim or a renewal, so this is asked again at every sweep. Whoever is wronged is fenced, like a late worker.
 */
@Injectable()
export class LostLeases {
  constructor(
    private readonly repository: LostLeasesRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Ends what it can prove to be lost; everything else runs out by itself. */
  async end(): Promise<void> {
    const holders = (await this.repository.findHolders()).filter(hasEnded);
    if (holders.length === 0) return;
    const jobs = await this.repository.end(holders);
    this.logger.info({ holders, jobs }, 'ended the leases of processes that have ended');
  }
}
