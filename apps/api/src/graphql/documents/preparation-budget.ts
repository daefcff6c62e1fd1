import { type Clock, type RateLimit, rateLimited } from '#platform';

/** Processor time that one user may use in a burst, in ms. */
const burstMs = 100;
/** The part of a burst that a user may use before requests of other users run, in ms. */
const turnMs = 50;
/** Processor time that a user gets back each second, in ms: a tenth of one processor. */
const msPerSecond = 100;
/** How far below zero a user's budget may fall before known documents also wait, in ms. */
const overdraftMs = 500;
/** A user owes at most this much, so that a request waits for at most 10 s, in ms. */
const maxDebtMs = 1_000;
/** Work that takes at most this long is not charged, in ms. */
const freeMs = 0.5;
const maxWaiting = 50;
const maxUsers = 10_000;
const retryAfterSeconds = 1;
const waitingLimit: RateLimit = {
  name: 'waiting_documents_per_user',
  value: maxWaiting,
  raisedBy: 'fixed',
  counts: 'GraphQL requests of a user that wait to be parsed',
};

interface Account {
  leftMs: number;
  at: number;
  /** Time used since requests of other users could last run, in ms. */
  turnMs: number;
  /** Requests that wait for time, in order. */
  readonly waiting: (() => void)[];
}

/**
 * Limits how long one user blocks this process by parsing, cost, introspection, compilation and serialization. Each step is bounded, but a
 * user may send many requests at once. Within the burst, work starts immediately or in the user's next turn; beyond the burst, it waits
 * until the user has budget again. Requests of other users run in between.
 */
export class PreparationBudget {
  private readonly accounts = new Map<string, Account>();

  constructor(private readonly clock: Clock) {}

  /** Runs `work`, at once if the user has budget left. Rejects with `rate_limited` when 50 requests of the user already wait. */
  run<T>(userId: string, work: () => T | Promise<T>): T | Promise<T> {
    const account = this.accountOf(userId);
    const mayRun = account.leftMs > 0 && account.turnMs < turnMs;
    if (mayRun && account.waiting.length === 0) return this.measure(account, work);
    if (account.waiting.length >= maxWaiting) return Promise.reject(rateLimited(waitingLimit, retryAfterSeconds));
    return new Promise((resolve, reject) => {
      account.waiting.push(() => {
        try {
          resolve(this.measure(account, work));
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
      if (account.waiting.length === 1) this.schedule(account);
    });
  }

  /** Whether work that takes almost no time may run although its user has no budget left. */
  mayOverdraw(userId: string): boolean {
    return this.accountOf(userId).leftMs > -overdraftMs;
  }

  /** Runs `work` at once, even without budget, because it writes the response of an operation that has already run. */
  charge<T>(userId: string, work: () => T): T {
    return this.measure(this.accountOf(userId), work);
  }

  /** Charges work that has been done. */
  spend(userId: string, tookMs: number): void {
    this.debit(this.accountOf(userId), tookMs);
  }

  private measure<T>(account: Account, work: () => T): T {
    const began = this.clock.monotonic();
    try {
      return work();
    } finally {
      this.debit(account, this.clock.monotonic() - began);
    }
  }

  private debit(account: Account, tookMs: number): void {
    if (tookMs <= freeMs) return;
    account.leftMs = Math.max(account.leftMs - tookMs, -maxDebtMs);
    if (account.turnMs === 0) this.clock.after(0, () => (account.turnMs = 0));
    account.turnMs += tookMs;
  }

  /** Runs the first waiting request as soon as the user has budget, then the next one. */
  private schedule(account: Account): void {
    this.refill(account);
    const waitMs = account.leftMs > 0 ? 0 : (-account.leftMs / msPerSecond) * 1_000 + 1;
    this.clock.after(waitMs, () => {
      this.refill(account);
      if (account.leftMs > 0) account.waiting.shift()?.();
      if (account.waiting.length > 0) this.schedule(account);
    });
  }

  private accountOf(userId: string): Account {
    const known = this.accounts.get(userId);
    if (known !== undefined) {
      this.refill(known);
      return known;
    }
    const account: Account = { leftMs: burstMs, at: this.clock.monotonic(), turnMs: 0, waiting: [] };
    this.accounts.set(userId, account);
    if (this.accounts.size > maxUsers) this.forgetOne(userId);
    return account;
  }

  /** The oldest account without waiting requests. */
  private forgetOne(except: string): void {
    for (const [userId, { waiting }] of this.accounts) {
      if (userId === except || waiting.length > 0) continue;
      this.accounts.delete(userId);
      return;
    }
  }

  private refill(account: Account): void {
    const now = this.clock.monotonic();
    account.leftMs = Math.min(burstMs, account.leftMs + ((now - account.at) / 1_000) * msPerSecond);
    account.at = now;
  }
}
