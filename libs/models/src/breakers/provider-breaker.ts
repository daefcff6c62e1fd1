import {
  BrokenCircuitError,
  circuitBreaker,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  DelegateBackoff,
  handleWhen,
  type IHalfOpenAfterBackoffContext,
} from 'cockatiel';

import { isProviderDown, ModelError, requestsPaused } from '../model/models.errors.js';

/** When requests to a provider are paused, and for how long. Times in ms. */
export interface BreakerOptions {
  /** Failures in a row that open the breaker; >= 1. */
  readonly failures: number;
  /** The first pause; each further one is twice as long. A provider's `Retry-After` replaces a shorter one. */
  readonly pauseMs: number;
  /** Maximum pause, also for a longer `Retry-After`. After each pause one request probes the provider. */
  readonly maxPauseMs: number;
}

/**
 * The circuit breaker of one provider endpoint, key and model, shared by all jobs of a process. Closed: requests pass. Open, after
 * too many failures in a row: requests fail without being sent. Half open, after the pause: one request probes the provider and
 * closes the breaker or opens it again. Failures that prove that the provider works (400, 401 …) and aborted requests open nothing.
 */
export class ProviderBreaker {
  private policy: CircuitBreakerPolicy;
  /** Wall time (ms) at which the next request may be sent. */
  private opensAt = 0;
  private lastPauseMs = 0;
  /** Wall time (ms) at which the newest probe was sent. */
  private probeSentAt = 0;

  constructor(private readonly options: BreakerOptions) {
    this.policy = this.createPolicy();
  }

  get isClosed(): boolean {
    return this.policy.state === CircuitState.Closed;
  }

  /** Throws what `request` throws, or `requestsPaused` when the breaker is open. */
  async run<T>(request: () => Promise<T>): Promise<T> {
    if (this.policy.state === CircuitState.HalfOpen) throw this.paused();
    try {
      return await this.policy.execute(request);
    } catch (error) {
      throw error instanceof BrokenCircuitError ? this.paused() : error;
    }
  }

  /** Sends the request although the breaker is open, because a person asked for it. A success closes the breaker. */
  async runAnyway<T>(request: () => Promise<T>): Promise<T> {
    if (this.isClosed) return this.run(request);
    const result = await request();
    this.policy = this.createPolicy();
    return result;
  }

  private createPolicy(): CircuitBreakerPolicy {
    const policy = circuitBreaker(
      handleWhen((error) => this.counts(error)),
      {
        breaker: new ConsecutiveBreaker(this.options.failures),
        halfOpenAfter: new DelegateBackoff((context: IHalfOpenAfterBackoffContext) => this.pauseFor(context)),
      },
    );
    policy.onHalfOpen(() => {
      this.probeSentAt = Date.now();
    });
    return policy;
  }

  /** An aborted request shows nothing about the provider, so an aborted probe leaves the breaker open. */
  private counts(error: unknown): boolean {
    if (error instanceof ModelError) return isProviderDown(error);
    return this.policy.state === CircuitState.HalfOpen;
  }

  private pauseFor({ attempt, result }: IHalfOpenAfterBackoffContext): number {
    const { pauseMs, maxPauseMs } = this.options;
    const error: unknown = 'error' in result ? result.error : undefined;
    const askedMs = error instanceof ModelError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const pause = Math.min(maxPauseMs, Math.max(askedMs, pauseMs * 2 ** Math.min(attempt - 1, 20)));
    this.opensAt = Date.now() + pause;
    this.lastPauseMs = pause;
    return pause;
  }

  private paused(): ModelError {
    const last = this.policy.lastFailure;
    const error: unknown = last !== undefined && 'error' in last ? last.error : undefined;
    const isProbed = this.policy.state === CircuitState.HalfOpen;
    return requestsPaused(error instanceof ModelError ? error.code : undefined, {
      pauseMs: this.remainingMs(),
      isProbed,
    });
  }

  /**
   * A probe may take as long as a timeout. Requests do not occupy their worker slots until the outcome of the probe: they are retried after another
   * pause, which is at least as long as the probe has taken so far.
   */
  private remainingMs(): number {
    if (this.policy.state !== CircuitState.HalfOpen) return Math.max(0, this.opensAt - Date.now());
    return Math.min(this.options.maxPauseMs, Math.max(this.lastPauseMs, Date.now() - this.probeSentAt));
  }
}
