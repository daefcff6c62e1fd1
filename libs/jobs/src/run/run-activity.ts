import type { Clock } from '#platform';

/** An answer of a model that is being streamed. */
export interface ModelStream {
  /** Call when a request is sent. */
  asked(): void;
  /** Call for everything that arrives; after `close` it has no effect. */
  heard(): void;
  /** Call when the request failed before its first byte. Gives the ms that no other failed request of the run has accounted for. */
  failed(): number;
  /** May be called again. */
  close(): void;
}

/** What the parts of a run wait for at this moment: answers of models, or work of another kind (tools). */
export class RunActivity {
  /** When something last arrived in each open stream, monotonic ms. */
  private readonly streams = new Map<object, number>();
  /** When the request of each stream was sent that nothing has arrived for, monotonic ms. */
  private readonly requests = new Map<object, number>();
  /** Time before this is accounted for by failed requests: nodes of a workflow may wait for the same provider at once. */
  private excludedUntil = -Infinity;
  private working = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  openStream(): ModelStream {
    const stream: ModelStream = {
      asked: () => this.requests.set(stream, this.clock.monotonic()),
      heard: () => {
        if (!this.streams.has(stream)) return;
        this.requests.delete(stream);
        this.streams.set(stream, this.clock.monotonic());
      },
      failed: () => {
        const now = this.clock.monotonic();
        const since = Math.max(this.excludedUntil, this.requests.get(stream) ?? now);
        this.excludedUntil = now;
        stream.heard();
        return Math.round(now - since);
      },
      close: () => {
        this.requests.delete(stream);
        this.streams.delete(stream);
      },
    };
    this.streams.set(stream, this.clock.monotonic());
    return stream;
  }

  /** For how long the run has waited for the first byte of a response, ms. It is working time unless the request fails. */
  get awaitedMs(): number {
    const since = Math.max(this.excludedUntil, Math.min(...this.requests.values()));
    return Math.max(0, this.clock.monotonic() - since);
  }

  /** Counts `work` as under way until it settles. */
  async track<Result>(work: Promise<Result>): Promise<Result> {
    this.working += 1;
    try {
      return await work;
    } finally {
      this.working -= 1;
    }
  }

  /** Whether the run waits for models alone, and none of them has sent anything for `ms`. */
  isSilentFor(ms: number): boolean {
    if (this.working > 0 || this.streams.size === 0) return false;
    const latest = this.clock.monotonic() - ms;
    return [...this.streams.values()].every((heardAt) => heardAt <= latest);
  }
}
