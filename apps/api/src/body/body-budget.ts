import { AppError } from '#platform';

/** Bytes of bodies that one process buffers for all callers together, and for each one of them. */
export interface BodyBudgetLimits {
  readonly totalBytes: number;
  readonly bytesPerCaller: number;
  /** Bodies of one caller that are being read at once. */
  readonly bodiesPerCaller: number;
}

/** A tenth of a small server's memory, and enough for 16 bodies of the largest size from one caller. */
export const bodyBudgetLimits: BodyBudgetLimits = {
  totalBytes: 256 * 1_048_576,
  bytesPerCaller: 64 * 1_048_576,
  bodiesPerCaller: 200,
};

interface Usage {
  bytes: number;
  bodies: number;
}

/** The bytes of unfinished bodies. Many slow uploads of one caller fill only the share of that caller. */
export class BodyBudget {
  private readonly callers = new Map<string, Usage>();
  private bytes = 0;

  constructor(private readonly limits: BodyBudgetLimits = bodyBudgetLimits) {}

  /** Counts a body of `caller` until it is released. Throws `rate_limited` for too many at once. */
  open(caller: string): OpenBody {
    const usage = this.callers.get(caller) ?? { bytes: 0, bodies: 0 };
    if (usage.bodies >= this.limits.bodiesPerCaller) throw busy('rate_limited', 'Too many requests at once');
    usage.bodies += 1;
    this.callers.set(caller, usage);
    let taken = 0;
    return {
      take: (bytes) => {
        if (usage.bytes + bytes > this.limits.bytesPerCaller)
          throw busy('rate_limited', 'Too many large requests at once');
        if (this.bytes + bytes > this.limits.totalBytes) throw busy('unavailable', 'Server busy, try again later');
        taken += bytes;
        usage.bytes += bytes;
        this.bytes += bytes;
      },
      release: () => {
        this.bytes -= taken;
        usage.bytes -= taken;
        usage.bodies -= 1;
        if (usage.bodies === 0) this.callers.delete(caller);
      },
    };
  }

  /** Callers with a body that is being read. */
  get size(): number {
    return this.callers.size;
  }
}

/** One body that is being read. `release` is called once. */
export interface OpenBody {
  /** Counts bytes that are buffered. Throws `rate_limited` or `unavailable` over a limit. */
  take(bytes: number): void;
  release(): void;
}

function busy(code: 'rate_limited' | 'unavailable', message: string): AppError {
  return new AppError({ code, message, retryable: true, retryAfterSeconds: 1 });
}
