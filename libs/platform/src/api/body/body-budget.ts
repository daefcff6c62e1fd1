import { AppError } from '../../errors/app-error.js';
import { type RateLimit, rateLimited } from '../../errors/reached-limit.js';

/** Maximum bytes of bodies that one process buffers, for all callers together and for each caller. */
export interface BodyBudgetLimits {
  readonly totalBytes: number;
  readonly bytesPerCaller: number;
  /** Maximum number of bodies of one caller that are read at once. */
  readonly bodiesPerCaller: number;
}

/** A tenth of a small server's memory, and enough for 16 bodies of maximum size from one caller. */
export const bodyBudgetLimits: BodyBudgetLimits = {
  totalBytes: 256 * 1_048_576,
  bytesPerCaller: 64 * 1_048_576,
  bodiesPerCaller: 200,
};

/** The budget for callers without a credential, which is separate. */
export const publicBodyBudgetLimits: BodyBudgetLimits = {
  totalBytes: 64 * 1_048_576,
  bytesPerCaller: 16 * 1_048_576,
  bodiesPerCaller: 100,
};

interface Usage {
  bytes: number;
  bodies: number;
}

/** Counts the bytes of incomplete bodies. Many slow uploads of one caller exhaust only the share of that caller. */
export class BodyBudget {
  private readonly callers = new Map<string, Usage>();
  private bytes = 0;

  constructor(private readonly limits: BodyBudgetLimits = bodyBudgetLimits) {}

  /** Counts a body of `caller` until its release. Throws `rate_limited` if the caller has too many at once. */
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

  /** The number of callers with a body in progress. */
  get size(): number {
    return this.callers.size;
  }
}

/** A body in progress. The reader calls `release` once. */
export interface OpenBody {
  /** Counts buffered bytes. Throws `rate_limited` or `unavailable` over a limit. */
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
