/** How long to wait between attempts. */
export interface BackOffOptions {
  /** Before the second attempt, in ms; doubled each time. 100 by default. */
  readonly firstDelayMs?: number | undefined;
  /** The longest wait, in ms. 10,000 by default. */
  readonly maxDelayMs?: number | undefined;
  /** Failures in a row after which it gives up; never by default. */
  readonly attempts?: number | undefined;
  /** Called before each wait with what failed, such as a `NightshiftError` with code `rate_limited`, and the time in ms. */
  readonly onWait?: ((error: unknown, delayMs: number) => void) | undefined;
}

/** Waits longer after each failure, and never exactly as long as others do: what went down together does not come back at once. */
export class BackOff {
  private failures = 0;
  private readonly firstDelayMs: number;
  private readonly maxDelayMs: number;
  private readonly attempts: number;
  private readonly onWait: BackOffOptions['onWait'];

  constructor(
    { firstDelayMs = 100, maxDelayMs = 10_000, attempts = Infinity, onWait }: BackOffOptions,
    private readonly random: () => number = Math.random,
  ) {
    this.firstDelayMs = firstDelayMs;
    this.maxDelayMs = maxDelayMs;
    this.attempts = attempts;
    this.onWait = onWait;
  }

  /** Something came through: the next failure is the first again. */
  succeed(): void {
    this.failures = 0;
  }

  /** Waits for the next attempt, at least `atLeastMs`. Throws `error` when there is none, and when `signal` aborts its reason. */
  async next(
    error: unknown,
    options: { readonly signal?: AbortSignal; readonly atLeastMs?: number } = {},
  ): Promise<void> {
    this.failures += 1;
    if (this.failures >= this.attempts) throw error;
    const longest = Math.min(this.maxDelayMs, this.firstDelayMs * 2 ** Math.min(this.failures - 1, 30));
    const delayMs = Math.max(longest * (0.5 + this.random() / 2), options.atLeastMs ?? 0);
    this.onWait?.(error, delayMs);
    await pause(delayMs, options.signal);
  }
}

/** Resolves after a while; rejects with the reason when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('Aborted', { cause: reason });
}
