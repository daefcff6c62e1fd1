import type { Clock } from '#platform';

/** A response that a model streams. */
export interface ModelStream {
  /** Call it when a request is sent. */
  asked(): void;
  /** Call it for all data that arrives; after `close` it has no effect. */
  heard(): void;
  /** Call it when the request failed before its first byte. Returns the ms that no other failed request of the run has counted. */
  failed(): number;
  /** May be called again. */
  close(): void;
}

/** The model responses and other work (tools) that a run waits for. */
export class RunActivity {
  /** When each open stream last received data, monotonic ms. */
  private readonly streams = new Map<object, number>();
  /** When each request without a response was sent, monotonic ms. */
  private readonly requests = new Map<object, number>();
  /**
   * The end of the time that failed requests have counted. Nodes of a workflow may wait for the same provider at once, and this time counts
   * once.
   */
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

  /** How long the run has waited for the first byte of a response, ms. It is working time unless the request fails. */
  get awaitedMs(): number {
    const since = Math.max(this.excludedUntil, Math.min(...this.requests.values()));
    return Math.max(0, this.clock.monotonic() - since);
  }

  /** Counts `work` as other work until it settles. */
  async track<Result>(work: Promise<Result>): Promise<Result> {
    this.working += 1;
    try {
      return await work;
    } finally {
      this.working -= 1;
    }
  }

  /** Whether the run waits only for models, and no model has sent anything for `ms`. */
  isSilentFor(ms: number): boolean {
    if (this.working > 0 || this.streams.size === 0) return false;
    const latest = this.clock.monotonic() - ms;
    return [...this.streams.values()].every((heardAt) => heardAt <= latest);
  }
}
