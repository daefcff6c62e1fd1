import { Inject, Injectable } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

import { LOGGER, type Logger } from '../logger.js';
import { Postgres } from '../postgres/postgres.js';
import { PrismaService } from '../prisma/prisma.service.js';
import type { RateCounter } from './rate-counter.js';

const clearEveryMs = 300_000;

/** The counts of rate limits, in the table `rate_limit`, which all API processes share. */
@Injectable()
export class RateCountersRepository {
  private clearedAt = Date.now();

  constructor(
    private readonly postgres: Postgres,
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** A counter of one limit; `name` separates its keys from those of other limits. */
  counter(name: string, limit: number, windowSeconds = 60): RateCounter {
    const options = { keyPrefix: name, points: limit, duration: windowSeconds };
    const store = new RateLimiterPostgres({
      ...{ ...options, storeClient: this.postgres.api, storeType: 'pool' },
      ...{ tableName: 'rate_limit', tableCreated: true, clearExpiredByTimeout: false },
      // Without the database, a limit applies to this process alone, which is better than rejecting or allowing every call.
      insuranceLimiter: new RateLimiterMemory(options),
    });
    return {
      add: async (key, points) => {
        this.clear();
        const { consumedPoints, msBeforeNext } = await store.consume(key, points).catch((refused: unknown) => {
          if (refused instanceof RateLimiterRes) return refused;
          this.logger.warn({ err: refused, limit: name }, 'a rate limit could not be counted');
          return { consumedPoints: points, msBeforeNext: windowSeconds * 1_000 };
        });
        return { used: consumedPoints, msLeft: Math.max(1, msBeforeNext) };
      },
    };
  }

  /** Occasionally removes the rows of ended windows. */
  private clear(): void {
    const now = Date.now();
    if (now - this.clearedAt < clearEveryMs) return;
    this.clearedAt = now;
    const deleted = this.prisma.outsideWorkspaces((client) =>
      client.rateLimit.deleteMany({ where: { expire: { lt: now } } }),
    );
    deleted.catch((error: unknown) => {
      this.logger.warn({ err: error }, 'ended windows of rate limits could not be removed');
    });
  }
}
