import type { Clock, Timer } from '../clock.js';
import { type OutboundStage, outboundTimedOut } from './outbound.errors.js';
import type { OutboundLimits } from './outbound-request.js';

/** The time limits of one exchange and the caller's abort, as one signal; its reason names the one that fired. */
export class OutboundWatch {
  private readonly controller = new AbortController();
  private readonly timers = new Map<OutboundStage, Timer>();
  private readonly onStop = (): void => {
    this.controller.abort(this.outer?.reason);
  };

  constructor(
    private readonly clock: Clock,
    private readonly limits: OutboundLimits,
    private readonly outer: AbortSignal | undefined,
  ) {
    if (outer?.aborted === true) this.onStop();
    else outer?.addEventListener('abort', this.onStop, { once: true });
    this.arm('total', limits.totalMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** A request goes out. */
  asked(): void {
    this.arm('first_byte', this.limits.firstByteMs);
  }

  /** Headers or a piece of the body came. */
  heard(): void {
    this.timers.get('first_byte')?.cancel();
    this.arm('idle', this.limits.idleMs);
  }

  /** Nothing is waited for any more. May be called again. */
  end(): void {
    this.outer?.removeEventListener('abort', this.onStop);
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
  }

  private arm(stage: OutboundStage, limitMs: number | null): void {
    this.timers.get(stage)?.cancel();
    if (limitMs === null || this.signal.aborted) return;
    const timer = this.clock.after(limitMs, () => {
      this.controller.abort(outboundTimedOut(stage, limitMs));
    });
    this.timers.set(stage, timer);
  }
}
