import { Injectable } from '@nestjs/common';

import { RateCountersRepository } from '#platform';

import type { TriggerTarget } from './delivery.js';

const windowMs = 1_000;
/** The highest `rateLimit` of a trigger: one counter serves all of them. */
const highestLimit = 10_000;
/** A postponed delivery is counted again after at most this time. */
const longestDelayMs = 60_000;

/** Counts the requests that rate-limited triggers have sent in the current second, for all processes together. */
@Injectable()
export class DeliveryRate {
  /** Tests replace it. */
  counter: ReturnType<RateCountersRepository['counter']>;

  constructor(counters: RateCountersRepository) {
    this.counter = counters.counter('trigger-deliveries', highestLimit, windowMs / 1_000);
  }

  /** Counts a request. 0: it may be sent now. Otherwise ms after which it may be counted again; it must not be sent. */
  async take({ rate }: Pick<TriggerTarget, 'rate'>): Promise<number> {
    if (rate == null) return 0;
    const { used, msLeft } = await this.counter.add(rate.key, 1);
    if (used <= rate.limit) return 0;
    // Spreads postponed deliveries over the next windows. If all were due in the next one, each second would handle the whole backlog.
    const windows = Math.floor((used - rate.limit - 1) / rate.limit);
    return Math.min(Math.ceil(msLeft) + windows * windowMs, longestDelayMs);
  }
}
