import type { LiveRun } from './live-run.js';

/** Something that occupies a slot: a running node, a decision of a loop, or the listing of a map's items. */
interface SlotRequest {
  readonly run: LiveRun;
  readonly onAssigned: () => void;
}

/**
 * The slots of a run: at most as many node runs work at once as there are slots; the others wait in order, those of an earlier
 * lease first. A node run that waits for a decision or a result from outside releases its slot.
 */
export class NodeSlots {
  private readonly resumed: SlotRequest[] = [];
  private readonly fresh: SlotRequest[] = [];
  private readonly callbacks = new Map<LiveRun, () => void>();
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

  enter(run: LiveRun, onAssigned: () => void): void {
    this.callbacks.set(run, onAssigned);
    this.queue({ run, onAssigned });
  }

  wait(run: LiveRun): void {
    if (run.slot !== 'taken') return;
    run.slot = 'waiting';
    this.taken -= 1;
  }

  resume(run: LiveRun): void {
    const onAssigned = this.callbacks.get(run);
    if (run.slot === 'waiting' && onAssigned !== undefined) this.queue({ run, onAssigned });
  }

  leave(run: LiveRun): void {
    if (run.slot === 'taken') this.taken -= 1;
    if (run.slot === 'queued') this.queued -= 1;
    run.slot = 'none';
    this.callbacks.delete(run);
  }

  /** Node runs that began under an earlier lease get their slots in the order of their begin. */
  sortResumed(): void {
    this.resumed.sort((a, b) => a.run.row.ordinal - b.run.row.ordinal);
  }

  /** Assigns the free slots. */
  fill(): void {
    this.isRefused = false;
    while (!this.isPaused && this.taken < this.count) {
      const request = this.next();
      if (request === null) return;
      request.run.slot = 'taken';
      this.taken += 1;
      this.queued -= 1;
      request.onAssigned();
    }
  }

  /** Returns whether no node run has a slot and none could get one. */
  get areIdle(): boolean {
    return this.taken === 0 && (this.queued === 0 || this.isPaused || this.isRefused);
  }

  private queue(request: SlotRequest): void {
    request.run.slot = 'queued';
    this.queued += 1;
    (request.run.isKnown ? this.resumed : this.fresh).push(request);
  }

  private next(): SlotRequest | null {
    const resumed = this.pick(this.resumed, this.nextResumed);
    this.nextResumed = resumed.after;
    if (resumed.request !== null) return resumed.request;
    const fresh = this.pick(this.fresh, this.nextFresh);
    // A node run that may not begin stays in the queue, and so do all behind it.
    this.isRefused = fresh.request !== null && fresh.request.run.row.ordinal === 0 && !this.mayBegin();
    this.nextFresh = this.isRefused ? fresh.after - 1 : fresh.after;
    return this.isRefused ? null : fresh.request;
  }

  /** Returns the first one at or after this index that still needs a slot. */
  private pick(
    requests: readonly SlotRequest[],
    from: number,
  ): { readonly request: SlotRequest | null; readonly after: number } {
    for (let at = from; ; at += 1) {
      const request = requests[at];
      if (request === undefined) return { request: null, after: at };
      if (request.run.slot === 'queued') return { request, after: at + 1 };
    }
  }
}
