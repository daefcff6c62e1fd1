/** Delays between attempts. */
export interface BackOffOptions {
  /** Delay before the second attempt, in ms; doubles each time. 100 by default. */
  readonly firstDelayMs?: number | undefined;
  /** Maximum delay, in ms. 10,000 by default. */
  readonly maxDelayMs?: number | undefined;
  /** Consecutive failures after which the client gives up; never by default. */
  readonly attempts?: number | undefined;
  /** Called before each delay with the error, such as a `NightshiftError` with code `rate_limited`, and the delay in ms. */
  readonly onWait?: ((error: unknown, delayMs: number) => void) | undefined;
}

/** Doubles the delay after each failure and randomizes it, so that clients which lost the server together do not reconnect together. */
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

  /** Resets the delay, because an attempt succeeded. */
  succeed(): void {
    this.failures = 0;
  }

  /** Waits before the next attempt, at least `atLeastMs`. Throws `error` if no attempt is left, and the reason of `signal` when that aborts. */
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

/** Resolves after `ms`; rejects with the reason of the signal when that aborts. */
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
