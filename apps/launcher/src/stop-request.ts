import { type Clock, systemClock } from '#platform';

/**
 * Time (ms) in which a repeated signal is ignored: the terminal or service manager sends it, and npm forwards it at once. It is
 * longer for SIGINT, which a person repeats, than for SIGTERM, which a script repeats faster.
 */
const ECHO_MS = { SIGINT: 300, SIGTERM: 50, SIGHUP: 0 } as const;
/** How long the process drains after an unexpected error. */
const SHORT_DRAIN_MS = 2_000;

/**
 * A request to stop this process, and its urgency. States: serving → stopping (first signal) → hurrying (second signal, or a while after a
 * failure). It never returns to an earlier state.
 */
export class StopRequest {
  private readonly stopping = new AbortController();
  private readonly hurrying = new AbortController();
  private lastSignalAt = Number.NEGATIVE_INFINITY;
  private cause: Error | undefined;

  constructor(private readonly clock: Clock = systemClock) {}

  /** Aborts at the first request. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Aborts when the process must stop without waiting. */
  get hurrySignal(): AbortSignal {
    return this.hurrying.signal;
  }

  /** The error that made this process stop, if one did. */
  get failure(): Error | undefined {
    return this.cause;
  }

  /** Takes a signal and returns its effect; `exit`: the process was already hurrying. */
  onSignal(signal: keyof typeof ECHO_MS = 'SIGINT'): 'stop' | 'hurry' | 'echo' | 'exit' {
    const now = this.clock.monotonic();
    if (now - this.lastSignalAt < ECHO_MS[signal]) return 'echo';
    // SIGHUP hurries no stop: the kernel, the shell and npm may all send it when a terminal closes.
    if (signal === 'SIGHUP' && this.stopping.signal.aborted) return 'echo';
    this.lastSignalAt = now;
    if (this.hurrying.signal.aborted) return 'exit';
    if (this.stopping.signal.aborted) {
      this.hurrying.abort();
      return 'hurry';
    }
    this.stopping.abort();
    return 'stop';
  }

  /** Handles an unexpected error: the process drains briefly and ends with that error. Keeps the first failure. */
  fail(cause: Error): void {
    this.cause ??= cause;
    this.stopping.abort();
    this.clock.after(SHORT_DRAIN_MS, () => {
      this.hurrying.abort();
    });
  }

  /** Resolves once a stop was requested. */
  requested(): Promise<void> {
    if (this.stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.stopping.signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
    });
  }
}
