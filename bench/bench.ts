/** One line of a bench's table; every row of a bench has the same columns where it can. */
export type Row = Readonly<Record<string, string | number | null>>;

/** A promise about speed, measured. */
export interface Aim {
  readonly aim: string;
  readonly value: number;
  /** As it is written down, with its unit. */
  readonly target: string;
  readonly met: boolean;
}

/** What a bench found. */
export interface BenchReport {
  readonly rows: readonly Row[];
  readonly aims: readonly Aim[];
}

/** How a bench is to be run. */
export interface BenchMode {
  /** Fewer and shorter runs: to see that it works, not to compare figures. */
  readonly quick: boolean;
  /** Also prints which statements used the database's time. */
  readonly profile: boolean;
  /** Prints progress; it is not part of the result. */
  readonly say: (text: string) => void;
}

/** One question about speed. `run` frees everything it started, also when it throws. */
export interface Bench {
  readonly name: string;
  readonly about: string;
  run(mode: BenchMode): Promise<BenchReport>;
}

/** An aim that is met from `target` upwards. */
export function atLeast(aim: string, value: number, [target, unit]: readonly [number, string]): Aim {
  return { aim, value, target: `>= ${target} ${unit}`.trim(), met: value >= target };
}

/** An aim that is met up to `target`. */
export function atMost(aim: string, value: number, [target, unit]: readonly [number, string]): Aim {
  return { aim, value, target: `<= ${target} ${unit}`.trim(), met: value <= target };
}
