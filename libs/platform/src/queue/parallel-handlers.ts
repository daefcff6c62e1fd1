import { type Clock, systemClock, type Timer } from '../clock.js';
import type { QueueName } from '../postgres/queue-list.js';
import type { Delivery, Handled, HandleOptions, QueueHandler } from './queue-message.js';
import type { Queues } from './queues.js';

/** Polls of the first handler, and of the others, which are needed only while several messages are handled. */
const [pollSeconds, relaxedPollSeconds] = [1, 30];

/** Maximum number of messages that a handler gives back before it waits for the next poll. */
const maxRefused = 100;
/**
 * How long searches leave out a group that had no free slot, if none reaches the end of the queue meanwhile. A search gives back 100 messages a
 * second at most, so it finds a message behind up to 6,000 full groups. pg-boss still delivers the messages of these groups.
 */
const fullForMs = 60_000;

interface OneHandler {
  isBusy: boolean;
  readonly registered: Promise<QueueHandler>;
}

/**
 * Handles up to `slots` messages of a queue at once. pg-boss lets one handler work on one batch at a time, so this registers another
 * handler when all are busy; an idle process keeps one that polls often. While that one is busy, a timer wakes an idle one as often, so
 * that a message that takes long delays no other one. (pg-boss's `localConcurrency` registers all handlers at once, and each polls.)
 *
 * With `acquire`, a message may also need a slot of its tool or workspace. If that slot is not free, the handler gives the message back and
 * fetches a message of another group.
 */
export class ParallelHandlers<Name extends QueueName> {
  /** Tests replace it. */
  clock: Clock = systemClock;
  private timer: Timer | undefined;
  private readonly handlers: OneHandler[] = [];
  /** Groups that had no free slot, with the end of that time by the monotonic clock: their messages would be given back. */
  private readonly fullGroups = new Map<string, number>();
  private isStopping = false;

  constructor(
    private readonly queues: Pick<Queues, 'handleEach' | 'handleFetched' | 'fetch' | 'giveBack'>,
    private readonly options: {
      readonly queue: Name;
      readonly slots: number;
      readonly groupConcurrency?: Exclude<HandleOptions['groupConcurrency'], undefined>;
      /** Acquires the slots that the message needs and returns their release. Undefined: none is free. */
      readonly acquire?: (message: Delivery<Name>) => (() => void) | undefined;
    },
    private readonly handle: (message: Delivery<Name>) => Promise<Handled>,
  ) {}

  /** Resolves when the first handler is registered. May be called again after `stop`. */
  async start(): Promise<void> {
    this.isStopping = false;
    if (this.handlers.length === 0) this.add();
    await this.handlers[0]?.registered;
  }

  /** Fetches now instead of at the next poll, if a slot is free. */
  wake(): void {
    if (this.isStopping) return;
    const idle = this.handlers.find(({ isBusy }) => !isBusy);
    if (idle === undefined) {
      if (this.handlers.length > 0 && this.handlers.length < this.options.slots) this.add();
      return;
    }
    void idle.registered.then(
      (handler) => {
        handler.wake();
      },
      () => undefined, // reported by `start`, or by pg-boss
    );
  }

  /** Fetches no more; resolves when no message is being handled. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.timer?.cancel();
    const registered = await Promise.allSettled(this.handlers.splice(0).map((handler) => handler.registered));
    await Promise.all(registered.flatMap((one) => (one.status === 'fulfilled' ? [one.value.stop()] : [])));
  }

  /** Until the handler that polls often is idle again. */
  private pollInstead(): void {
    if (this.isStopping) return;
    this.timer?.cancel();
    this.timer = this.clock.after(pollSeconds * 1_000, () => {
      this.wake();
      this.pollInstead();
    });
  }

  private get limits(): Pick<HandleOptions, 'groupConcurrency'> {
    const { groupConcurrency } = this.options;
    return groupConcurrency === undefined ? {} : { groupConcurrency };
  }

  private acquire(message: Delivery<Name>): (() => void) | undefined {
    if (this.options.acquire === undefined) return () => undefined;
    return this.isStopping ? undefined : this.options.acquire(message);
  }

  /** Handles the message in the slot that `release` frees. */
  private async handleIn(release: () => void, handler: OneHandler, message: Delivery<Name>): Promise<Handled> {
    try {
      this.wake(); // another message may wait
      if (handler === this.handlers[0]) this.pollInstead();
      return await this.handle(message);
    } finally {
      release();
    }
  }

  /** Not cleared by a release: a workspace with many groups would make each search start again at its first ones. */
  private stillFull(): string[] {
    const now = this.clock.monotonic();
    for (const [group, until] of this.fullGroups) if (until <= now) this.fullGroups.delete(group);
    return [...this.fullGroups.keys()];
  }

  /** Gives `refused` back and handles one message of another group instead. False: it found none. */
  private async handleOther(handler: OneHandler, refused: Delivery<Name>): Promise<boolean> {
    const { queue } = this.options;
    let next: Delivery<Name> | undefined = refused;
    for (let count = 1; next !== undefined; count++) {
      await this.queues.giveBack(queue, next);
      // Without a group, the next fetch would return the same message again.
      if (next.groupId === null || count === maxRefused || this.isStopping) return false;
      this.fullGroups.set(next.groupId, this.clock.monotonic() + fullForMs);
      const [message] = await this.queues.fetch(queue, { ...this.limits, ignoreGroups: this.stillFull() });
      const release = message === undefined ? undefined : this.acquire(message);
      if (message !== undefined && release !== undefined) {
        await this.queues.handleFetched(queue, message, () => this.handleIn(release, handler, message));
        return true;
      }
      next = message;
    }
    this.fullGroups.clear(); // the search has reached the end of the queue
    return false;
  }

  private add(): void {
    const poll = this.handlers.length === 0 ? pollSeconds : relaxedPollSeconds;
    const handler: OneHandler = {
      isBusy: false,
      registered: this.queues.handleEach(
        this.options.queue,
        { pollSeconds: poll, ...this.limits },
        async (delivered) => {
          handler.isBusy = true;
          let wasFree = false;
          try {
            const release = this.acquire(delivered);
            wasFree = release !== undefined;
            if (release !== undefined) return await this.handleIn(release, handler, delivered);
            wasFree = await this.handleOther(handler, delivered);
            return 'given-back';
          } finally {
            handler.isBusy = false;
            if (handler === this.handlers[0]) this.timer?.cancel();
            // Without a free slot, the next fetch would only return what was given back.
            if (wasFree && !this.isStopping) (await handler.registered).wake();
          }
        },
      ),
    };
    handler.registered.catch(() => undefined); // see `wake`
    this.handlers.push(handler);
  }
}
