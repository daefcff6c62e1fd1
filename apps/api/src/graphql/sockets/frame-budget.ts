/** Messages a socket may send each second on average, however few streams it may have. */
const leastPerSecond = 50;
/** What may come at once, in seconds of the average. */
const burstSeconds = 4;

/**
 * A token bucket for what one client sends: frames beyond it end the connection. Who may have more streams may also open and
 * close more of them: `streams` a second. `at` and `now` in ms, never falling.
 */
export class FrameBudget {
  private readonly perSecond: number;
  private left: number;

  constructor(
    private at: number,
    streams: number,
  ) {
    this.perSecond = Math.max(leastPerSecond, streams);
    this.left = this.burst;
  }

  /** Takes one; false: there is none left. */
  take(now: number): boolean {
    this.left = Math.min(this.burst, this.left + ((now - this.at) / 1_000) * this.perSecond);
    this.at = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  private get burst(): number {
    return this.perSecond * burstSeconds;
  }
}
