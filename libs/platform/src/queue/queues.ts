import { type Db, type FetchOptions, fromPrisma, type JobResult, PgBoss } from 'pg-boss';

import { type Clock, systemClock } from '../clock.js';
import { type Config, queuesServed } from '../config/config.js';
import type { Logger } from '../logger.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Postgres } from '../postgres/postgres.js';
import {
  type MaintenanceQueue,
  QUEUE_SCHEMA,
  type QueueData,
  type QueueName,
  queues,
  type QueueSettings,
} from '../postgres/queue-list.js';
import type { SqlStatement } from '../postgres/sql-statement.js';
import type { PrismaTransaction } from '../prisma/prisma.service.js';
import {
  type AddressedMessage,
  attemptOf,
  type Delivery,
  type Handled,
  type HandleOptions,
  type QueueHandler,
  type QueueMessage,
  type StoredMessage,
  toDelivery,
  toInsert,
} from './queue-message.js';
import { unreferencedClock } from './unreferenced-clock.js';

/** Queues whose messages are sent by `insertions` or `insertionOf`. */
const insertedQueues = [
  'hook.action',
  'job.chat',
  'job.workflow',
  'interrupt.due',
  'sub-job.due',
  'tool-execution',
  'webhook.deliver',
] as const;
type InsertedQueue = (typeof insertedQueues)[number];

/** How often pg-boss may look for messages of processes that were lost. */
const monitorIntervalSeconds = 5;

interface QueuesInit {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly postgres: Postgres;
}

/** pg-boss completes a message whose handler resolves and retries one whose handler rejects, as the queue's settings say. */
export class Queues {
  /** Tests replace it. */
  clock: Clock = systemClock;
  private readonly boss: PgBoss;
  private readonly postgres: Postgres;
  private readonly logger: Logger;
  private readonly handled;
  /** pg-boss's statements that insert messages, by queue. */
  private readonly statements = new Map<QueueName, string>();
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;

  constructor({ config, logger, metrics, postgres }: QueuesInit) {
    this.postgres = postgres;
    this.logger = logger;
    // One process of the installation needs to expire, retry and delete messages and to send scheduled ones; pg-boss elects it.
    const maintains = queuesServed(config.values).includes('jobs');
    this.boss = new PgBoss({
      db: { executeSql: (text, values) => postgres.workerPool.query(text, values) },
      schema: QUEUE_SCHEMA,
      migrate: false,
      createSchema: false,
      supervise: maintains,
      schedule: maintains,
      maintenanceIntervalSeconds: 600,
      monitorIntervalSeconds,
      clock: unreferencedClock,
      reindex: false, // the workers' login does not own the indexes
    });
    this.boss.on('error', (error) => {
      logger.warn({ err: error }, 'pg-boss reported an error');
    });
    this.boss.on('warning', (warning) => {
      logger.warn(warning, 'pg-boss reported a warning');
    });
    this.handled = handledMessages(metrics);
  }

  /** Call it before `insertions` and `insertionOf`. The methods that use a queue call it themselves. May be called again. */
  start(): Promise<void> {
    this.starting ??= this.boss.start().then(() => this.readStatements());
    return this.starting;
  }

  /** Stop the handlers first: if a handler still runs, its messages are retried. May be called again. */
  stop(): Promise<void> {
    this.stopping ??= this.starting === undefined ? Promise.resolve() : this.boss.stop({ graceful: false });
    return this.stopping;
  }

  /** Registers `handler` with pg-boss's `work`: the messages of `queue` are delivered to it, one batch at a time. */
  async handle<Name extends QueueName>(
    queue: Name,
    { batchSize = 1, pollSeconds = 1 }: HandleOptions,
    handler: (messages: readonly QueueData[Name][]) => Promise<unknown>,
  ): Promise<QueueHandler> {
    await this.start();
    const work = { batchSize, pollingIntervalSeconds: pollSeconds, burstWhenBatchFull: true };
    const id = await this.boss.work<QueueData[Name]>(queue, work, async (jobs) => {
      // Without this, pg-boss would wait for the next poll after each message: its burst needs batches of at least two.
      if (batchSize === 1) this.boss.notifyWorker(id);
      try {
        await handler(jobs.map(({ data }) => data));
        this.handled.inc({ queue, outcome: 'completed' }, jobs.length);
      } catch (error) {
        this.failed(queue, error, jobs.length);
        throw error;
      }
    });
    return this.handlerOf(queue, id);
  }

  /** Like `handle`, with a handler of one message. */
  handleOne<Name extends QueueName>(queue: Name, handler: (message: QueueData[Name]) => Promise<void>) {
    return this.handle(queue, {}, (messages) => Promise.all(messages.map(handler)));
  }

  /** pg-boss stores the error with the message only. */
  private failed(queue: QueueName, error: unknown, messages: number): void {
    this.handled.inc({ queue, outcome: 'failed' }, messages);
    this.logger.warn({ err: error, queue, messages }, 'the handler of a queue failed');
  }

  private handlerOf(queue: QueueName, id: string): QueueHandler {
    return {
      wake: () => {
        this.boss.notifyWorker(id);
      },
      stop: () => this.boss.offWork(queue, { id, wait: true }),
    };
  }

  /** Lets one handler of the whole installation run each minute. */
  async handleEachMinute(queue: MaintenanceQueue, run: () => Promise<unknown>, pollSeconds = 5): Promise<QueueHandler> {
    await this.start();
    await this.boss.schedule(queue, '* * * * *');
    return this.handle(queue, { pollSeconds }, run);
  }

  private async result<Name extends QueueName>(
    queue: Name,
    message: Delivery<Name>,
    handler: (message: Delivery<Name>) => Promise<Handled>,
  ): Promise<JobResult> {
    const { id } = message;
    try {
      const handled = await handler(message);
      if (handled !== 'given-back') this.handled.inc({ queue, outcome: 'completed' }); // `giveBack` has counted
      // pg-boss completes only the attempt that it delivered: a message that was given back is another attempt.
      return typeof handled === 'string'
        ? { id, status: 'completed' }
        : { id, status: 'deadletter', output: { reason: handled.deadLetter } };
    } catch (error) {
      this.failed(queue, error, 1);
      return { id, status: 'failed', output: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** As `handle`, for messages that are settled one by one; one whose handler rejects is retried, as its queue's settings say. */
  async handleEach<Name extends QueueName>(
    queue: Name,
    options: HandleOptions,
    handler: (message: Delivery<Name>) => Promise<Handled>,
  ): Promise<QueueHandler> {
    await this.start();
    const { batchSize = 1, pollSeconds = 1, sequenceOf = () => '', ...filter } = options;
    const work = { ...filter, batchSize, pollingIntervalSeconds: pollSeconds, burstWhenBatchFull: true } as const;
    const id = await this.boss.work<QueueData[Name]>(queue, { ...work, perJobResults: true }, async (jobs) => {
      const results: JobResult[] = [];
      const handleAll = async (sequence: typeof jobs) => {
        for (const job of sequence) results.push(await this.result(queue, toDelivery(job), handler));
      };
      const sequences = Map.groupBy(jobs, (job) => sequenceOf(toDelivery(job)));
      await Promise.all([...sequences.values()].map(handleAll));
      return results;
    });
    return this.handlerOf(queue, id);
  }

  /** Fetches messages beside a handler, for `handleFetched` or `giveBack`. */
  async fetch<Name extends QueueName>(queue: Name, options: FetchOptions): Promise<Delivery<Name>[]> {
    await this.start();
    return (await this.boss.fetch<QueueData[Name]>(queue, options)).map(toDelivery);
  }

  /**
   * Handles a message that `fetch` returned as pg-boss handles one that it delivers: the heartbeat is refreshed meanwhile, then the message
   * is completed or fails. A handler that returns a dead letter fails the message, too: pg-boss moves it once its retries are used up.
   */
  async handleFetched<Name extends QueueName>(
    queue: Name,
    message: Delivery<Name>,
    handler: (message: Delivery<Name>) => Promise<Handled>,
  ): Promise<void> {
    const stop = this.refreshHeartbeat(queue, message);
    try {
      const result = await this.result(queue, message, handler);
      if (result.status === 'completed') await this.boss.complete(queue, attemptOf(message));
      else await this.boss.fail(queue, attemptOf(message), result.output as object); // `result` sets an object
    } finally {
      stop();
    }
  }

  /** As often as pg-boss does: twice within the `heartbeatSeconds` of the queue. Returns a function that stops the refresh. */
  private refreshHeartbeat(queue: QueueName, message: Delivery): () => void {
    const { heartbeatSeconds }: QueueSettings = queues[queue];
    if (heartbeatSeconds === undefined) return () => undefined;
    const refresh = () => {
      timer = this.clock.after(heartbeatSeconds * 500, refresh);
      this.boss.touch(queue, attemptOf(message)).catch((error: unknown) => {
        this.logger.warn({ err: error, queue }, 'the heartbeat of a message was not refreshed');
      });
    };
    let timer = this.clock.after(heartbeatSeconds * 500, refresh);
    return () => {
      timer.cancel();
    };
  }

  /**
   * Lets another process fetch a message of this process. It keeps the retries that it has left, but pg-boss computes the delay of its next
   * retry as if it had used them.
   */
  async giveBack(queue: QueueName, message: Delivery): Promise<void> {
    this.handled.inc({ queue, outcome: 'given-back' });
    await this.inTransaction(async (db) => {
      // A cancelled message that is resumed is another attempt: what this process settles later does not count.
      await this.boss.cancel(queue, attemptOf(message), { db });
      await this.boss.resume(queue, message.id, { db });
      const { retryLimit }: QueueSettings = queues[queue];
      if (retryLimit === 0) return;
      // pg-boss counts the next fetch as a retry.
      const [stored] = await this.boss.findJobs(queue, { id: message.id, queued: true, db });
      if (stored !== undefined)
        await this.boss.update(queue, undefined, { id: message.id, retryLimit: stored.retryLimit + 1, db });
    });
  }

  /** In one transaction, sends the response and completes the request, if this delivery is still its current attempt. */
  async respond<Name extends QueueName>(
    queue: QueueName,
    request: Delivery,
    response: { readonly queue: Name; readonly message: QueueMessage<Name> },
  ): Promise<void> {
    await this.inTransaction(async (db) => {
      await this.boss.insert(response.queue, [toInsert(response.message)], { db });
      await this.boss.complete(queue, attemptOf(request), undefined, { db });
    });
  }

  private async inTransaction(run: (db: Db) => Promise<void>): Promise<void> {
    await this.start();
    const client = await this.postgres.workerPool.connect();
    let broken = false;
    try {
      await client.query('BEGIN');
      await run({ executeSql: (text, values) => client.query(text, values) });
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => (broken = true));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Deletes a message. A delivery is deleted only if it is still the current attempt of its message. */
  async remove(queue: QueueName, message: string | Delivery): Promise<void> {
    await this.start();
    await this.boss.deleteJob(queue, typeof message === 'string' ? message : attemptOf(message));
  }

  /** Deletes the messages of a sweep that no worker has fetched. */
  async discardWaiting(queue: MaintenanceQueue): Promise<void> {
    await this.start();
    await this.boss.deleteQueuedJobs(queue);
  }

  /** Finds messages in any state, in no order. */
  async find<Name extends QueueName>(
    queue: Name,
    by: { readonly id?: string; readonly key?: string; readonly data?: object },
  ): Promise<readonly StoredMessage<Name>[]> {
    await this.start();
    return this.boss.findJobs<QueueData[Name]>(queue, by);
  }

  /** How many messages wait, at most a minute ago. */
  async count(queue: QueueName): Promise<number> {
    await this.start();
    const [stats] = await this.boss.getQueueStats(queue, { force: true });
    return stats?.queuedCount ?? 0;
  }

  /** Retries the messages of processes that were lost, now rather than within a minute. */
  async superviseNow(queue: QueueName): Promise<void> {
    await this.start();
    await this.boss.supervise(queue);
  }

  /** Sends messages, in the transaction `tx` if there is one: a rollback takes them back. */
  async send<Name extends QueueName>(
    tx: PrismaTransaction | null,
    queue: Name,
    messages: readonly QueueMessage<Name>[],
  ): Promise<void> {
    await this.start();
    await this.boss.insert(queue, messages.map(toInsert), tx === null ? {} : { db: fromPrisma(tx) });
  }

  /** Sends messages of several queues in the transaction. */
  async sendAll(tx: PrismaTransaction, messages: readonly AddressedMessage[]): Promise<void> {
    for (const [queue, own] of Map.groupBy(messages, (message) => message.queue)) await this.send(tx, queue, own);
  }

  /**
   * The statements that send messages, one for each queue, for a transaction that is sent as a whole. They are pg-boss's own, taken from
   * its `insert` by the `db` option when `start` ran. Throws before that, and for a queue without one.
   */
  insertions(messages: readonly AddressedMessage[]): SqlStatement[] {
    return [...Map.groupBy(messages, (message) => message.queue)].map(([queue, own]) => ({
      name: `send-${queue}`,
      text: this.insertionText(queue),
      values: [JSON.stringify(own.map(toInsert))],
    }));
  }

  /**
   * The same statement for messages that `select` makes, one row each with the columns of pg-boss's `insert` (`id`, `data`,
   * `"startAfter"`, `"groupId"`, …), as a part of a larger one. For `tool-execution` it returns a row for each message sent. `start` is
   * required before.
   */
  insertionOf(queue: InsertedQueue, select: string): string {
    const messages = `(SELECT coalesce(json_agg(message), '[]')::text FROM (${select}) message)`;
    return this.insertionText(queue).replace('$1', () => messages);
  }

  private insertionText(queue: QueueName): string {
    const text = this.statements.get(queue);
    if (text === undefined) throw new Error(`the queues are not started, or ${queue} has no statement`);
    return text;
  }

  private async readStatements(): Promise<void> {
    const probe = { data: { probe: true } };
    for (const queue of insertedQueues) {
      const capture = (text: string, values: unknown[] = []) => {
        if (values.length !== 1 || values[0] !== JSON.stringify([probe]) || text.split('$').length !== 2)
          throw new Error('this version of pg-boss passes messages in another way');
        this.statements.set(queue, text);
        return Promise.resolve({ rows: [] });
      };
      await this.boss.insert(queue, [probe], {
        db: { executeSql: capture },
        returnId: queue === 'tool-execution' || queue === 'webhook.deliver',
      });
    }
  }
}

/** Counts what the handlers of this process did. */
export function handledMessages(metrics: Metrics) {
  return metrics.counter('nightshift_queue_messages_total', 'Queue messages handled, by queue and outcome', [
    'queue',
    'outcome',
  ]);
}
