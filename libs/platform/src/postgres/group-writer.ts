import type { Clock } from '../clock.js';

/** Writes a batch. Must return one result per item, in order; an `Error` as a result rejects only its caller. */
export type WriteBatch<Item, Result> = (items: readonly Item[]) => Promise<readonly (Result | Error)[]>;

export interface GroupWriterOptions {
  /**
   * Minimum time between the starts of two batches, in ms. After a longer pause, a write waits only for the current turn of the event loop.
   */
  readonly tickMs: number;
  /** Maximum items of a batch; the others go into the next one. */
  readonly maxBatch: number;
  /** Runs right before a batch is built: items that it submits join the batch. If it throws, all callers of the batch are rejected. */
  readonly onBatchStart?: () => void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines many small writes into few commits: items that arrive in one turn, in the rest of a tick or while a batch is being written form
 * the next batch. Only one batch is in flight at a time, so a busy database makes batches larger, not queues longer. Each caller's promise
 * settles with its own result; if a batch fails as a whole, all of its callers are rejected.
 */
export class GroupWriter<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private writing = false;
  private scheduled = false;
  private begunAt = -Infinity;
  private idle: (() => void)[] = [];

  constructor(
    private readonly write: WriteBatch<Item, Result>,
    private readonly clock: Clock,
    private readonly options: GroupWriterOptions,
  ) {}

  submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.schedule();
    });
  }

  /** Resolves when all items submitted so far have settled. */
  async drain(): Promise<void> {
    if (!this.busy) return;
    await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  get busy(): boolean {
    return this.writing || this.waiting.length > 0;
  }

  private schedule(): void {
    if (this.scheduled || this.writing) return;
    this.scheduled = true;
    const wait = this.begunAt + this.options.tickMs - this.clock.monotonic();
    if (wait <= 0) setImmediate(() => void this.flush());
    else this.clock.after(wait, () => void this.flush());
  }

  private async flush(): Promise<void> {
    this.scheduled = false;
    this.begunAt = this.clock.monotonic();
    this.writing = true;
    await this.writeBatch();
    this.writing = false;
    if (this.waiting.length > 0) this.schedule();
    else for (const resolve of this.idle.splice(0)) resolve();
  }

  private async writeBatch(): Promise<void> {
    let batch: readonly Waiting<Item, Result>[] = [];
    try {
      try {
        this.options.onBatchStart?.();
      } finally {
        batch = this.waiting.splice(0, this.options.maxBatch);
      }
      const results = await this.write(batch.map(({ item }) => item));
      batch.forEach(({ resolve, reject }, i) => {
        const result = results[i];
        if (result instanceof Error) reject(result);
        else if (i >= results.length) reject(new Error('a batch returned fewer results than items'));
        else resolve(result as Result); // not an Error, so it is the caller's result
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
