/** How many slots there are: in all, and of each kind for one value of that kind (one tool, one workspace). All >= 1. */
export interface SlotLimits<Kind extends string> {
  readonly total: number;
  readonly perValue: Readonly<Record<Kind, number>>;
}

/** The slots of a process. A tool or workspace at its limit leaves the other slots to the others. */
export class Slots<Kind extends string> {
  private readonly counts = new Map<string, number>();
  private taken = 0;

  constructor(private readonly limits: SlotLimits<Kind>) {}

  get size(): number {
    return this.taken;
  }

  /** Acquires a slot and returns its release, which may be called more than once. Undefined: no slot is free for these values. */
  acquire(values: Readonly<Record<Kind, string>>): (() => void) | undefined {
    const { total, perValue } = this.limits;
    const limited = Object.entries<number>(perValue).map(([kind, limit]) => ({
      key: `${kind} ${values[kind as Kind]}`, // `perValue` has no other keys
      limit,
    }));
    if (this.taken >= total || limited.some(({ key, limit }) => (this.counts.get(key) ?? 0) >= limit)) return undefined;
    const change = (by: 1 | -1) => {
      this.taken += by;
      for (const { key } of limited) this.add(key, by);
    };
    change(1);
    let isAcquired = true;
    return () => {
      if (isAcquired) change(-1);
      isAcquired = false;
    };
  }

  private add(key: string, by: 1 | -1): void {
    const count = (this.counts.get(key) ?? 0) + by;
    if (count === 0) this.counts.delete(key);
    else this.counts.set(key, count);
  }
}
