import type { LiveRun } from './live-run.js';

/** Something that occupies a slot: a running node, a decision of a loop, or the listing of a map's items. */
interface Turn {
  readonly run: LiveRun;
  readonly handOut: () => void;
}

/**
 * The slots of a run: at most as many node runs work at once as there are slots; the others wait in order, those of an earlier
 * lease first. A node run that waits for an outside answer releases its slot.
 */
export class NodeSlots {
  private readonly resumed: Turn[] = [];
  private readonly fresh: Turn[] = [];
  private readonly handOuts = new Map<LiveRun, () => void>();
  private nextResumed = 0;
  private nextFresh = 0;
  private taken = 0;
  private queued = 0;
  private isRefused = false;
  /** While this is set, no slot is assigned. */
  isPaused = false;

  /** `mayBegin` is called before a new node run gets a slot. */
  constructor(
    private readonly count: number,
    private readonly mayBegin: () => boolean,
  ) {}

  enter(run: LiveRun, handOut: () => void): void {
    this.handOuts.set(run, handOut);
    this.queue({ run, handOut });
  }

  wait(run: LiveRun): void {
    if (run.slot !== 'taken') return;
    run.slot = 'waiting';
    this.taken -= 1;
  }

  resume(run: LiveRun): void {
    const handOut = this.handOuts.get(run);
    if (run.slot === 'waiting' && handOut !== undefined) this.queue({ run, handOut });
  }

  leave(run: LiveRun): void {
    if (run.slot === 'taken') this.taken -= 1;
    if (run.slot === 'queued') this.queued -= 1;
    run.slot = 'none';
    this.handOuts.delete(run);
  }

  /** Node runs that began under an earlier lease get their slots in the order of their begin. */
  sortResumed(): void {
    this.resumed.sort((a, b) => a.run.row.ordinal - b.run.row.ordinal);
  }

  /** Assigns the free slots. */
  fill(): void {
    this.isRefused = false;
    while (!this.isPaused && this.taken < this.count) {
      const turn = this.next();
      if (turn === null) return;
      turn.run.slot = 'taken';
      this.taken += 1;
      this.queued -= 1;
      turn.handOut();
    }
  }

  /** Returns whether no node run has a slot and none could get one. */
  get areIdle(): boolean {
    return this.taken === 0 && (this.queued === 0 || this.isPaused || this.isRefused);
  }

  private queue(turn: Turn): void {
    turn.run.slot = 'queued';
    this.queued += 1;
    (turn.run.isKnown ? this.resumed : this.fresh).push(turn);
  }

  private next(): Turn | null {
    const resumed = this.pick(this.resumed, this.nextResumed);
    this.nextResumed = resumed.after;
    if (resumed.turn !== null) return resumed.turn;
    const fresh = this.pick(this.fresh, this.nextFresh);
    // A node run that may not begin stays in the queue, and so do all behind it.
    this.isRefused = fresh.turn !== null && fresh.turn.run.row.ordinal === 0 && !this.mayBegin();
    this.nextFresh = this.isRefused ? fresh.after - 1 : fresh.after;
    return this.isRefused ? null : fresh.turn;
  }

  /** Returns the first one at or after this index that still needs a slot. */
  private pick(turns: readonly Turn[], from: number): { readonly turn: Turn | null; readonly after: number } {
    for (let at = from; ; at += 1) {
      const turn = turns[at];
      if (turn === undefined) return { turn: null, after: at };
      if (turn.run.slot === 'queued') return { turn, after: at + 1 };
    }
  }
}
