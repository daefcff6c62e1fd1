import { Injectable } from '@nestjs/common';

import { Config, RateCountersRepository, SharedRate, systemClock } from '#platform';

/** Limits the uploads per minute of each user, across all keys, workspaces and processes. */
@Injectable()
export class UploadLimiter {
  private readonly ofUser: SharedRate;

  constructor(counters: RateCountersRepository, { values }: Config) {
    const value = values.UPLOADS_PER_MINUTE;
    const counts = 'uploads of a user in a minute';
    const limit = { name: 'UPLOADS_PER_MINUTE', value, raisedBy: 'operator', counts } as const;
    this.ofUser = new SharedRate(counters.counter('uploads-user', value), limit, systemClock);
  }

  /** Uses one upload. Throws `rate_limited` when none is left. */
  async take(userId: string): Promise<void> {
    await this.ofUser.take(userId);
  }
}
