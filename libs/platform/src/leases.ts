import type { Clock, Timer } from './clock.js';
import type { Logger } from './logger.js';

/** Why this process lost a lease: another owner or status in the row, or no renewal in time. */
export type LeaseLoss = 'withdrawn' | 'not renewed';

/** A lease of this process. */
export interface Lease {
  /**
   * False if another process may own it by now, by the monotonic clock. Check it before each external effect: a suspended process can resume
   * at any statement, before its timers fire.
   */
  isValid(): boolean;
  /** Call it when the work has ended. */
  release(): void;
}

export interface LeasesOptions<Item, Renewed> {
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The id of an item in the result of `renew`. */
  readonly idOf: (item: Item) => string;
  /** Extends the leases of these items in one statement. The result omits items that have lost their lease. */
  readonly renew: (items: readonly Item[]) => Promise<ReadonlyMap<string, Renewed>>;
  readonly onRenewed?: (item: Item, renewed: Renewed) => void;
  /** Runs at most once per lease, and not after its `release`. */
  readonly onLost: (item: Item, why: LeaseLoss) => void;
}

interface Held<Item> {
  readonly item: Item;
  /** The instant on the monotonic clock after which another process may own the lease. */
  validUntil: number;
  timer: Timer | undefined;
}

/**
 * The leases of this process. One statement renews all of them, every third of `leaseMs`. This process treats a lease as lost if two thirds
 * of `leaseMs` have passed since the start of its last successful renewal.
 */
export class Leases<Item, Renewed> {
  private readonly held = new Map<string, Held<Item>>();
  private timer: Timer | undefined;

  constructor(protected readonly options: LeasesOptions<Item, Renewed>) {}

  items(): Item[] {
    return [...this.held.values()].map(({ item }) => item);
  }

  find(id: string): Item | undefined {
    return this.held.get(id)?.item;
  }

  /** `claimedAt`: monotonic instant before the claim was sent. Replaces an earlier claim with the same id, whose renewals then end. */
  add(item: Item, claimedAt: number): Lease {
    const { clock, idOf } = this.options;
    const id = idOf(item);
    const held: Held<Item> = { item, validUntil: 0, timer: undefined };
    this.extend(held, claimedAt);
    this.held.set(id, held);
    this.renewLater();
    return {
      isValid: () => this.held.get(id) === held && clock.monotonic() < held.validUntil,
      release: () => {
        this.release(held);
      },
    };
  }

  /** Renews some leases now, for example after a hint that their rows have changed. */
  async ask(concerns: (item: Item) => boolean): Promise<void> {
    await this.renew([...this.held.values()].filter(({ item }) => concerns(item)));
  }

  private extend(held: Held<Item>, since: number): void {
    const { clock, leaseMs } = this.options;
    held.validUntil = since + (leaseMs * 2) / 3;
    held.timer?.cancel();
    held.timer = clock.after(held.validUntil - clock.monotonic(), () => {
      this.lose(held, 'not renewed');
    });
  }

  private release(held: Held<Item>): void {
    held.timer?.cancel();
    const id = this.options.idOf(held.item);
    if (this.held.get(id) === held) this.held.delete(id);
    if (this.held.size > 0) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private renewLater(): void {
    this.timer ??= this.options.clock.after(this.options.leaseMs / 3, () => {
      this.timer = undefined;
      void this.ask(() => true).finally(() => {
        if (this.held.size > 0) this.renewLater();
      });
    });
  }

  private async renew(asked: readonly Held<Item>[]): Promise<void> {
    if (asked.length === 0) return;
    const { clock, idOf, logger, onRenewed } = this.options;
    const askedAt = clock.monotonic();
    try {
      const renewed = await this.options.renew(asked.map(({ item }) => item));
      for (const held of asked) {
        const id = idOf(held.item);
        const answer = renewed.get(id);
        if (this.held.get(id) !== held) continue; // released during the renewal
        if (answer === undefined) this.lose(held, 'withdrawn');
        else {
          this.extend(held, askedAt);
          onRenewed?.(held.item, answer);
        }
      }
    } catch (err) {
      logger.warn({ err, leases: asked.length }, 'renewing leases failed; trying again');
    }
  }

  private lose(held: Held<Item>, why: LeaseLoss): void {
    this.release(held);
    this.options.onLost(held.item, why);
  }
}
