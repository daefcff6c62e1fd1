import { AppError } from '../../errors/app-error.js';
import { type RateLimit, rateLimited } from '../../errors/reached-limit.js';

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

/** Bodies of callers without a credential, who share a budget of their own. */
export const publicBodyBudgetLimits: BodyBudgetLimits = {
  totalBytes: 64 * 1_048_576,
  bytesPerCaller: 16 * 1_048_576,
  bodiesPerCaller: 100,
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
    if (usage.bodies >= this.limits.bodiesPerCaller)
      throw rateLimited(
        fixed('request_bodies_at_once', this.limits.bodiesPerCaller, 'request bodies of a caller at once'),
        retryAfterSeconds,
      );
    usage.bodies += 1;
    this.callers.set(caller, usage);
    let taken = 0;
    return {
      take: (bytes) => {
        if (usage.bytes + bytes > this.limits.bytesPerCaller)
          throw rateLimited(
            fixed('request_bytes_at_once', this.limits.bytesPerCaller, 'bytes of request bodies of a caller at once'),
            retryAfterSeconds,
          );
        if (this.bytes + bytes > this.limits.totalBytes) throw busy();
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

const retryAfterSeconds = 1;

function fixed(name: string, value: number, counts: string): RateLimit {
  return { name, value, raisedBy: 'fixed', counts };
}

function busy(): AppError {
  const message = 'The server is reading as many request bodies as it has memory for. Send the request again';
  return new AppError({ code: 'unavailable', message, retryable: true, retryAfterSeconds });
}
