import { type Clock, type Logger, systemClock, type Timer } from '#platform';

const lookEveryMs = 1_000;

/** How long what failed gives way to the others, and how much is remembered for it. */
const putOffMs = 60_000;
const mostPutOff = 10_000;

/**
 * Looks for what is due about once a second, for as long as it is started, one look at a time. What failed is put off for a
 * minute: it would come first every time, and keep all others from their turn.
 */
export class DueLooks {
  private readonly clock: Clock = systemClock;
  /** Ids of what failed here, in the order of the instants (monotonic) from which it is tried again. */
  private readonly putOff = new Map<string, number>();
  private timer: Timer | undefined;
  private looking: Promise<void> | undefined;
  private stopped = true;

  /** `what`: as the log names it. A look that rejects is logged, and made up for by the next one. */
  constructor(private readonly terms: { readonly what: string; readonly logger: Logger }) {}

  start(look: () => Promise<void>): void {
    this.stopped = false;
    this.lookLater(look);
  }

  /** Resolves when no look is under way any more. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.looking;
  }

  /** What is to be left out for now. */
  stillPutOff(): string[] {
    const now = this.clock.monotonic();
    for (const [id, until] of this.putOff) {
      if (until > now) break;
      this.putOff.delete(id);
    }
    return [...this.putOff.keys()];
  }

  postpone(id: string): void {
    this.putOff.delete(id);
    const [oldest] = this.putOff.keys();
    if (oldest !== undefined && this.putOff.size >= mostPutOff) this.putOff.delete(oldest);
    this.putOff.set(id, this.clock.monotonic() + putOffMs);
  }

  private lookLater(look: () => Promise<void>): void {
    if (this.stopped) return;
    this.timer = this.clock.after(lookEveryMs * (0.75 + Math.random() / 2), () => {
      this.looking = look()
        .catch((error: unknown) => {
          this.terms.logger.warn({ err: error }, `looking for ${this.terms.what} failed`);
        })
        .finally(() => {
          this.lookLater(look);
        });
    });
  }
}
