import { NightshiftError } from './nightshift-error.js';

/** The messages that a socket has received and the reader has not: a bounded queue with one writer and one reader. */
export class Inbox<Entry> {
  private readonly entries: Entry[] = [];
  private end: { readonly error: Error | undefined } | undefined;
  private wake: () => void = () => undefined;

  constructor(private readonly capacity: number) {}

  /** Whether nothing more is taken. */
  get isOver(): boolean {
    return this.end !== undefined;
  }

  /** One too many is the end: its reader learns that it `fell_behind` after it has read what is there. */
  put(entry: Entry): void {
    if (this.isOver) return;
    this.entries.push(entry);
    if (this.entries.length >= this.capacity)
      this.finish(new NightshiftError('More came than was read', { code: 'fell_behind', retryable: true }));
    this.wake();
  }

  /** The first end counts. */
  finish(error?: Error): void {
    this.end ??= { error };
    this.wake();
  }

  /** What is there and comes, until the end; then throws its error. Throws the reason of `signal` at once when it aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<Entry, void, undefined> {
    const stop = () => {
      this.wake();
    };
    signal.addEventListener('abort', stop);
    try {
      for (;;) {
        signal.throwIfAborted();
        const entry = this.entries.shift();
        if (entry !== undefined) yield entry;
        else if (this.end === undefined) await new Promise<void>((resolve) => (this.wake = resolve));
        else if (this.end.error === undefined) return;
        else throw this.end.error;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
