import type { Clock } from '#platform';

/** An answer of a model that is being streamed. */
export interface ModelStream {
  /** Call for everything that arrives. */
  heard(): void;
  /** May be called again. */
  close(): void;
}

/** What the parts of a run wait for at this moment: answers of models, or work of another kind (tools). */
export class RunActivity {
  /** When something last arrived in each open stream, monotonic ms. */
  private readonly streams = new Map<object, number>();
  private working = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  openStream(): ModelStream {
    const stream: ModelStream = {
      heard: () => this.streams.set(stream, this.clock.monotonic()),
      close: () => this.streams.delete(stream),
    };
    stream.heard();
    return stream;
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
