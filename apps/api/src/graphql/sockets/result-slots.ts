/** Queries and mutations of one connection that run or whose result is not sent yet. */
const most = 4;

/** Results wait in memory until a client reads them, so a connection runs a few operations at a time; the others wait, unstarted. */
export class ResultSlots {
  private used = 0;
  private readonly waiting: (() => void)[] = [];

  /** Resolves when there is a slot, in order. */
  async acquire(): Promise<void> {
    if (this.used < most) {
      this.used += 1;
      return;
    }
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Gives a slot of `acquire` back. */
  release(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.used -= 1;
    else next();
  }
}
