import type { Clock, Logger, Timer } from '#platform';

import type { ClaimedCall, ExecClaimsRepository } from './exec-claims.repository.js';

interface Held {
  readonly call: ClaimedCall;
  readonly lose: (reason: Error) => void;
  validUntil: number;
  timer: Timer;
}

/** Why this process may no longer run a call: it was settled, cancelled, or its lease could not be renewed in time. */
export class ClaimLost extends Error {
  constructor(readonly why: 'withdrawn' | 'not renewed') {
    super(`the claim was ${why}`);
    this.name = 'ClaimLost';
  }
}

export interface ExecLeasesOptions {
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The claims of this process. Renewed together every third of the lease; a claim that was not renewed for two thirds of it,
 * counted from before the last question that was answered, is given up here, by the monotonic clock.
 */
export class ExecLeases {
  private readonly held = new Map<string, Held>();
  private timer: Timer | undefined;

  constructor(
    private readonly claims: Pick<ExecClaimsRepository, 'renew'>,
    private readonly options: ExecLeasesOptions,
  ) {}

  /** `claimedAt`: the monotonic instant before the claim was sent. `lose` is called once, unless the call is removed before. */
  add(call: ClaimedCall, claimedAt: number, lose: (reason: Error) => void): void {
    const validUntil = claimedAt + this.graceMs;
    this.held.set(call.id, { call, lose, validUntil, timer: this.watch(call.id, validUntil) });
    this.renewLater();
  }

  remove(call: ClaimedCall): void {
    this.held.get(call.id)?.timer.cancel();
    this.held.delete(call.id);
    if (this.held.size > 0) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Call before anything goes outside: a process that was paused wakes up anywhere, and before its timers. */
  isValid(call: ClaimedCall): boolean {
    const held = this.held.get(call.id);
    return held !== undefined && this.options.clock.monotonic() < held.validUntil;
  }

  /** A hint named these calls: their rows hold the current state. */
  async ask(concerns: (call: ClaimedCall) => boolean): Promise<void> {
    await this.renew([...this.held.values()].filter(({ call }) => concerns(call)));
  }

  private get graceMs(): number {
    return (this.options.leaseMs * 2) / 3;
  }

  private watch(id: string, validUntil: number): Timer {
    const { clock } = this.options;
    return clock.after(validUntil - clock.monotonic(), () => {
      this.lose(id, new ClaimLost('not renewed'));
    });
  }

  private renewLater(): void {
    this.timer ??= this.options.clock.after(this.options.leaseMs / 3, () => {
      this.timer = undefined;
      void this.renew([...this.held.values()]).finally(() => {
        if (this.held.size > 0) this.renewLater();
      });
    });
  }

  private async renew(asked: readonly Held[]): Promise<void> {
    if (asked.length === 0) return;
    const { clock, logger } = this.options;
    const askedAt = clock.monotonic();
    try {
      const renewed = await this.claims.renew(asked.map(({ call }) => call));
      for (const held of asked) {
        const { id } = held.call;
        if (this.held.get(id) !== held) continue; // over while the question was under way
        if (!renewed.has(id)) {
          this.lose(id, new ClaimLost('withdrawn'));
          continue;
        }
        held.timer.cancel();
        held.validUntil = askedAt + this.graceMs;
        held.timer = this.watch(id, held.validUntil);
      }
    } catch (error) {
      logger.warn({ err: error, calls: asked.length }, 'renewing claims of tool calls failed; trying again');
    }
  }

  private lose(id: string, reason: Error): void {
    const held = this.held.get(id);
    if (held === undefined) return;
    this.remove(held.call);
    held.lose(reason);
  }
}
