import { DatabaseUnavailable } from '../postgres/postgres.errors.js';
import type { MaintenanceQueue } from '../postgres/queue-list.js';
import type { QueueHandler } from './queue-message.js';
import type { Queues } from './queues.js';

/** What `stop` ends: a handler, or a subscription to hints. */
interface Stoppable {
  stop(): Promise<void> | void;
}

/** A component of a worker that handles queues. It can be started and stopped several times. */
export abstract class QueueWorker {
  private opened: Promise<readonly Stoppable[]> | undefined;

  /** Registers the handlers, once. Rejects if one cannot be registered. */
  async start(): Promise<void> {
    this.opened ??= this.open();
    await this.opened;
  }

  /** Fetches no more messages. Resolves when no handler of this component is running. */
  async stop(): Promise<void> {
    const opened = this.opened?.catch(() => []); // `start` has rejected
    this.opened = undefined;
    await Promise.all(((await opened) ?? []).map(async (each) => each.stop()));
  }

  /** Registers the handlers. `stop` ends what this returns. */
  protected abstract open(): Promise<readonly Stoppable[]>;
}

/**
 * Runs one handler of the whole installation at once, then each `everyMs`: each run first sends the message for the next run. If that
 * message is lost, the schedule of pg-boss sends another one within a minute. A worker that starts may replace one that was killed, so it
 * does not wait for the message that an earlier run sent.
 */
export async function handleEvery(
  queues: Queues,
  { queue, everyMs }: { readonly queue: MaintenanceQueue; readonly everyMs: number },
  run: () => Promise<void>,
): Promise<QueueHandler> {
  const next = (afterMs: number) => queues.send(null, queue, [{ data: null, afterMs }]);
  const runAndRepeat = async () => {
    await next(everyMs);
    await run();
  };
  await queues.discardWaiting(queue);
  await next(0);
  return queues.handleEachMinute(queue, runAndRepeat, Math.min(Math.max(everyMs / 4_000, 0.5), 5));
}

/** What a sweep looks for and does. */
export interface Sweep<Item> {
  /** Up to `limit` items without those whose ids are in `without`. */
  readonly find: (limit: number, without: readonly string[]) => Promise<readonly Item[]>;
  /** A uuid. */
  readonly idOf: (item: Item) => string;
  readonly act: (item: Item) => Promise<void>;
  readonly onError: (error: unknown, item: Item) => void;
}

/**
 * Acts on each item in turn. If an item fails, the others still have their turn. Rejects if the database is away, because each further item
 * would wait for a connection, too.
 */
export async function actOnEach<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<unknown>,
  onError: (error: unknown, item: Item) => void,
): Promise<void> {
  for (const item of items) {
    try {
      await act(item);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      onError(error, item);
    }
  }
}

/**
 * Runs the parts of a sweep in turn. If a part fails, the others still run; then this rejects with the first error, so that its code
 * reaches the caller. Parts that fail for another reason fail again in the next sweep.
 */
export async function runParts(...parts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  await actOnEach(
    parts,
    (part) => part(),
    (error) => {
      errors.push(error);
    },
  );
  if (errors.length > 0) throw errors[0];
}

const atOnce = 100;
const max = 10_000;

/** Acts once on each item, up to 10,000. If an item fails, the sweep continues with the others. */
export async function sweepEach<Item>({ find, idOf, act, onError }: Sweep<Item>): Promise<void> {
  const tried: string[] = [];
  while (tried.length < max) {
    const found = await find(atOnce, tried);
    tried.push(...found.map(idOf));
    await actOnEach(found, act, onError);
    if (found.length < atOnce) return;
  }
}
