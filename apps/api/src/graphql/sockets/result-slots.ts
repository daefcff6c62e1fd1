/** Maximum queries and mutations of one connection that run or have unsent results. */
const max = 4;

/** A result stays in memory until the client reads it, so a connection runs only a few operations at a time and delays the others. */
export class ResultSlots {
  private used = 0;
  private isClosed = false;
  private readonly waiting: ((isFree: boolean) => void)[] = [];

  /** Resolves in order: true with a slot, false if the connection has closed. */
  async acquire(): Promise<boolean> {
    if (this.isClosed) return false;
    if (this.used < max) {
      this.used += 1;
      return true;
    }
    return new Promise<boolean>((resolve) => this.waiting.push(resolve));
  }

  /** Releases a slot that `acquire` returned. */
  release(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.used -= 1;
    else next(true);
  }

  /** Rejects all waiting operations, because the connection has closed. */
  close(): void {
    this.isClosed = true;
    for (const resolve of this.waiting.splice(0)) resolve(false);
  }
}
