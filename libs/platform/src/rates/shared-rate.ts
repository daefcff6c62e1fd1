import { LRUCache } from 'lru-cache';

import type { Clock } from '../clock.js';
import { type RateLimit, rateLimited } from '../errors/reached-limit.js';
import type { RateCounter } from './rate-counter.js';

/** Maximum number of cached keys. The least recently used one is dropped first, with its reservation. */
const maxKeys = 10_000;
/** A process reserves this fraction of a limit at once: 1/20. */
const reserves = 20;

/** The state of a key's limit in this process, in the current window. */
interface Share {
  /** Reserved by this process and not used yet. */
  reserved: number;
  /** Reserved by no process. */
  free: number;
  /** Monotonic end of the window; Infinity before the first response of the counter. */
  endsAt: number;
  /** Calls that wait for a reservation. */
  waiting: number;
  reserving: Promise<void> | undefined;
}

/** The remaining use of a limit. */
export interface Allowance {
  readonly limit: number;
  /** The number of starts that are left now. */
  readonly remaining: number;
  /** 0: the caller may start now. Otherwise seconds until it may. */
  readonly retryAfterSeconds: number;
}

/**
 * A rate limit of a key per window, across all processes. A process reserves a part of the limit at the shared counter and uses it up
 * before it reserves more, so most calls need no statement, and all processes together never exceed the limit. A process may reject
 * early while another one has unused reservations; small limits are reserved one by one and are exact.
 */
export class SharedRate {
  private readonly shares = new LRUCache<string, Share>({ max: maxKeys });
  private readonly limit: number;
  private readonly atOnce: number;

  constructor(
    private readonly counter: RateCounter,
    private readonly rate: RateLimit,
    private readonly clock: Clock,
  ) {
    this.limit = rate.value;
    this.atOnce = Math.max(1, Math.floor(this.limit / reserves));
  }

  /** The number of keys in memory. */
  get size(): number {
    return this.shares.size;
  }

  /** The remaining use, as far as this process knows. Uses nothing. */
  peek(key: string): Allowance {
    return this.allowance(this.shares.peek(key));
  }

  /** Uses one. Throws `rate_limited` if none is left. */
  async take(key: string): Promise<Allowance> {
    for (;;) {
      const share = this.shareOf(key);
      if (share.reserved > 0) {
        share.reserved -= 1;
        return this.allowance(share);
      }
      if (share.free === 0) throw rateLimited(this.rate, this.allowance(share).retryAfterSeconds);
      share.waiting += 1;
      share.reserving ??= this.reserve(key, share).finally(() => {
        share.reserving = undefined;
      });
      await share.reserving;
      share.waiting -= 1;
    }
  }

  /** Returns one, because the call was a replay. */
  giveBack(key: string): Allowance {
    const share = this.shareOf(key);
    if (share.endsAt !== Infinity) share.reserved = Math.min(share.reserved + 1, this.limit);
    return this.allowance(share);
  }

  private async reserve(key: string, share: Share): Promise<void> {
    const points = Math.min(Math.max(this.atOnce, share.waiting), this.limit);
    const { used, msLeft } = await this.counter.add(key, points);
    share.reserved += Math.min(points, Math.max(0, this.limit - (used - points)));
    share.free = Math.max(0, this.limit - used);
    share.endsAt = this.clock.monotonic() + msLeft;
  }

  private shareOf(key: string): Share {
    const known = this.shares.get(key);
    const isOver = known !== undefined && known.endsAt <= this.clock.monotonic() && known.reserving === undefined;
    const fresh: Share = { reserved: 0, free: this.limit, endsAt: Infinity, waiting: 0, reserving: undefined };
    const share = known === undefined || isOver ? fresh : known;
    this.shares.set(key, share);
    return share;
  }

  private allowance(share: Share | undefined): Allowance {
    const { limit } = this;
    const leftMs = share === undefined ? 0 : share.endsAt - this.clock.monotonic();
    if (share === undefined || leftMs <= 0) return { limit, remaining: limit, retryAfterSeconds: 0 };
    const remaining = share.reserved + share.free;
    return { limit, remaining, retryAfterSeconds: remaining > 0 ? 0 : Math.max(1, Math.ceil(leftMs / 1_000)) };
  }
}
