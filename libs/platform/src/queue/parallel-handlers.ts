import { type Clock, systemClock, type Timer } from '../clock.js';
import type { QueueName } from '../postgres/queue-list.js';
import type { Delivery, Handled, HandleOptions, QueueHandler, Queues } from './queues.js';

/** Polls of the first handler, and of the others, which are needed only while several messages are handled. */
const [pollSeconds, relaxedPollSeconds] = [1, 30];

interface Admitted<Name extends QueueName> {
  readonly message: Delivery<Name>;
  readonly release: () => void;
}

interface OneHandler {
  isBusy: boolean;
  readonly registered: Promise<QueueHandler>;
}

/**
 * For messages that need more than a slot. The handler must remove them from the queue: it may get another message than the one that
 * pg-boss delivered, and pg-boss settles only that one.
 */
interface Admission<Name extends QueueName> {
  /** Acquires the slots that the message needs and returns their release. Undefined: none is free; the message is given back. */
  acquire(message: Delivery<Name>): (() => void) | undefined;
  /** Groups whose messages would be given back. */
  busyGroups(): readonly string[];
}

/**
 * Handles up to `slots` messages of a queue at once. pg-boss lets one handler work on one batch at a time, so this registers another
 * handler when all are busy; an idle process keeps one that polls often. While that one is busy, a timer wakes an idle one as often, so
 * that a message that takes long delays no other one.
 */
export class ParallelHandlers<Name extends QueueName> {
  /** Tests replace it. */
  clock: Clock = systemClock;
  private timer: Timer | undefined;
  private readonly handlers: OneHandler[] = [];
  private isStopping = false;

  constructor(
    private readonly queues: Pick<Queues, 'handleEach' | 'fetch' | 'giveBack'>,
    private readonly options: {
      readonly queue: Name;
      readonly slots: number;
      readonly groupConcurrency?: Exclude<HandleOptions['groupConcurrency'], undefined>;
      readonly admission?: Admission<Name>;
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

  /** Gives a message back if no slot is free for it, and fetches one of another group instead. Undefined: there is none. */
  private async admit(delivered: Delivery<Name>): Promise<Admitted<Name> | undefined> {
    const { queue, admission } = this.options;
    if (admission === undefined) return { message: delivered, release: () => undefined };
    const busy = new Set(admission.busyGroups());
    let message: Delivery<Name> | undefined = delivered;
    while (message !== undefined) {
      const release = this.isStopping ? undefined : admission.acquire(message);
      if (release !== undefined) return { message, release };
      await this.queues.giveBack(queue, message);
      if (message.groupId !== null) busy.add(message.groupId);
      if (this.isStopping) return undefined;
      [message] = await this.queues.fetch(queue, { ...this.limits, ignoreGroups: [...busy] });
    }
    return undefined;
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
          let admitted: Admitted<Name> | undefined;
          try {
            admitted = await this.admit(delivered);
            if (admitted === undefined) return 'completed';
            this.wake(); // another message may wait
            if (handler === this.handlers[0]) this.pollInstead();
            return await this.handle(admitted.message);
          } finally {
            admitted?.release();
            handler.isBusy = false;
            if (handler === this.handlers[0]) this.timer?.cancel();
            // After a message was given back, the next fetch would only return it again.
            if (admitted !== undefined && !this.isStopping) (await handler.registered).wake();
          }
        },
      ),
    };
    handler.registered.catch(() => undefined); // see `wake`
    this.handlers.push(handler);
  }
}
