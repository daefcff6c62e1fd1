import { Inject, Injectable } from '@nestjs/common';

import { hasEnded, LOGGER, type Logger } from '#platform';

import { LostLeasesRepository } from './lost-leases.repository.js';

/**
 * Expires the leases of processes that have provably ended, so that no job waits for them. Postgres may still execute a statement of such a
 * process, also a claim or a renewal, so every sweep does this again. If a lease was expired by mistake, the fence rejects the writes of its
 * worker.
 */
@Injectable()
export class LostLeases {
  constructor(
    private readonly repository: LostLeasesRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Expires the leases that are provably lost; all others expire by time. */
  async end(): Promise<void> {
    const holders = (await this.repository.findHolders()).filter(hasEnded);
    if (holders.length === 0) return;
    const jobs = await this.repository.end(holders);
    this.logger.info({ holders, jobs }, 'ended the leases of processes that have ended');
  }
}
