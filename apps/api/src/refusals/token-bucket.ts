/** What a token bucket allows. */
export interface TokenBucketLimits {
  /** On average. */
  readonly perSecond: number;
  /** At once, after a pause. */
  readonly burst: number;
}

/** Allows a rate on average, and a burst after a pause. Times in ms, never falling. */
export class TokenBucket {
  private left: number;

  constructor(
    private at: number,
    private readonly limits: TokenBucketLimits,
  ) {
    this.left = limits.burst;
  }

  /** Takes `tokens`; false: fewer are left, and none is taken. */
  take(now: number, tokens = 1): boolean {
    const { perSecond, burst } = this.limits;
    this.left = Math.min(burst, this.left + ((now - this.at) / 1_000) * perSecond);
    this.at = now;
    if (this.left < tokens) return false;
    this.left -= tokens;
    return true;
  }
}
