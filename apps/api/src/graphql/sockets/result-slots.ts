/** Queries and mutations of one connection that run or whose result is not sent yet. */
const most = 4;

/** Results stay in memory until the client reads them, so a connection runs a few operations at a time and delays the others. */
export class ResultSlots {
  private used = 0;
  private isClosed = false;
  private readonly waiting: ((isFree: boolean) => void)[] = [];

  /** Resolves in order: true when there is a slot, false when the connection has closed. Only true takes a slot. */
  async acquire(): Promise<boolean> {
    if (this.isClosed) return false;
    if (this.used < most) {
      this.used += 1;
      return true;
    }
    return new Promise<boolean>((resolve) => this.waiting.push(resolve));
  }

  /** Releases a slot of `acquire`. */
  release(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.used -= 1;
    else next(true);
  }

  /** The connection has closed: what waits for a slot gets none. */
  close(): void {
    this.isClosed = true;
    for (const resolve of this.waiting.splice(0)) resolve(false);
  }
}
