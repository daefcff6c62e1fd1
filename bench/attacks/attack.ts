/** What an attack is aimed at. */
export interface AttackTarget {
  /** Base URL of the API process. */
  readonly url: string;
  /** API key of the attacking tenant, which has every scope in its own workspace and no right elsewhere. */
  readonly apiKey: string;
}

/** How far an attack goes. */
export interface AttackBounds {
  /** Aborts when the time of the attack is over; every connection of the attack ends then. */
  readonly signal: AbortSignal;
}

/**
 * One attack, ten times the size of the case that showed the weakness. It runs in a process of its own, against a server
 * that serves no other attack. `run` ends when its requests are sent or `signal` aborts, and counts the outcomes.
 */
export interface Attack {
  readonly name: string;
  readonly about: string;
  run(target: AttackTarget, bounds: AttackBounds, outcomes: Outcomes): Promise<void>;
}

/** Counts how the server answered, for the table: statuses, connection errors, bytes. */
export class Outcomes {
  private readonly counts = new Map<string, number>();

  count(outcome: string | number, times = 1): void {
    const name = String(outcome);
    this.counts.set(name, (this.counts.get(name) ?? 0) + times);
  }

  toString(): string {
    return [...this.counts].map(([name, count]) => `${name} x${count}`).join(', ') || 'no answer';
  }
}
