import { Injectable } from '@nestjs/common';

import { Config } from '#platform';

import { rateLimited } from '../../errors/http.errors.js';

const retryAfterSeconds = 5;

/** Counts the connections of each principal, which may have as many as it may have streams. */
@Injectable()
export class SocketSeats {
  private readonly taken = new Map<string, number>();

  constructor(private readonly config: Config) {}

  /** Principals that are connected. */
  get size(): number {
    return this.taken.size;
  }

  /** Takes a seat and gives the way to leave it, once or more often. Throws `rate_limited` when there is none. */
  take(principal: string): () => void {
    const now = this.taken.get(principal) ?? 0;
    if (now >= this.config.values.STREAMS_PER_PRINCIPAL)
      throw rateLimited(retryAfterSeconds, this.config.values.STREAMS_PER_PRINCIPAL);
    this.taken.set(principal, now + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = (this.taken.get(principal) ?? 1) - 1;
      if (left > 0) this.taken.set(principal, left);
      else this.taken.delete(principal);
    };
  }
}
