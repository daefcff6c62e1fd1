/**
 * Counts the timers that code of ours has set and that neither fired nor were cleared. They never keep a process alive, so
 * Node does not list them. Watches from the moment it is made until `stop`.
 */
export class OpenTimers {
  private readonly open = new Set<unknown>();
  private readonly set = globalThis.setTimeout;
  private readonly clear = globalThis.clearTimeout;

  constructor() {
    const set = (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): unknown => {
      const fire = () => {
        this.open.delete(handle);
        run(...args);
      };
      const handle: unknown = Reflect.apply(this.set, undefined, [fire, ms]);
      // The caller's line: the first two are the message and this function.
      const caller = new Error().stack?.split('\n')[2] ?? '';
      // pg-boss sets its own timers through `unreferenced-clock.ts`; they come and go with its polls.
      if (caller.includes('/libs/') && !caller.includes('/queue/unreferenced-clock.')) this.open.add(handle);
      return handle;
    };
    const clear = (handle: unknown): void => {
      this.open.delete(handle);
      Reflect.apply(this.clear, undefined, [handle]);
    };
    Reflect.set(globalThis, 'setTimeout', set);
    Reflect.set(globalThis, 'clearTimeout', clear);
  }

  get count(): number {
    return this.open.size;
  }

  stop(): void {
    Reflect.set(globalThis, 'setTimeout', this.set);
    Reflect.set(globalThis, 'clearTimeout', this.clear);
  }
}
