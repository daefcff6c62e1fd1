import { type Clock, fromPrisma, PgBoss } from 'pg-boss';

import { type Config, queuesServed } from '../config/config.js';
import type { Logger } from '../logger.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Postgres } from '../postgres/postgres.js';
import { QUEUE_SCHEMA, type QueueData, type QueueName } from '../postgres/queue-list.js';
import type { SqlStatement } from '../postgres/sql-statement.js';
import type { PrismaTransaction } from '../prisma/prisma.service.js';

/** A message to send. */
export interface QueueMessage<Name extends QueueName = QueueName> {
  readonly data: QueueData[Name];
  /** A uuid. A message is not sent while another one with its id is stored. */
  readonly id?: string;
  /** Not delivered before this instant (ms since the epoch). */
  readonly startAfter?: number;
}

/** How the messages of a queue are fetched. */
export interface HandleOptions {
  /** Most messages that the handler gets at once. Default 1. */
  readonly batchSize?: number;
  /** How often the queue is asked while it is empty. Default 1 s. */
  readonly pollSeconds?: number;
}

/** A handler at work. */
export interface QueueHandler {
  /** Fetches now instead of at the next poll. */
  wake(): void;
  /** Fetches no more; resolves when the handler has returned. */
  stop(): Promise<void>;
}

/** Queues whose messages are sent by `insertion`. */
const insertedQueues = ['job.chat', 'job.workflow'] as const;

interface QueuesInit {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly postgres: Postgres;
}

/** pg-boss completes a message whose handler resolves and retries one whose handler rejects, as the queue's settings say. */
export class Queues {
  private readonly boss: PgBoss;
  private readonly handled;
  /** pg-boss's statements that insert messages, by queue. */
  private readonly insertions = new Map<QueueName, string>();
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;

  constructor({ config, logger, metrics, postgres }: QueuesInit) {
    // One process of the installation needs to expire, retry and delete messages and to send scheduled ones; pg-boss elects it.
    const maintains = queuesServed(config.values).includes('jobs');
    this.boss = new PgBoss({
      db: { executeSql: (text, values) => postgres.engine.query(text, values) },
      schema: QUEUE_SCHEMA,
      migrate: false,
      createSchema: false,
      supervise: maintains,
      schedule: maintains,
      maintenanceIntervalSeconds: 600,
      clock: unreferencedClock,
      reindex: false, // the engine's login does not own the indexes
    });
    this.boss.on('error', (error) => {
      logger.warn({ err: error }, 'pg-boss reported an error');
    });
    this.boss.on('warning', (warning) => {
      logger.warn(warning, 'pg-boss reported a warning');
    });
    this.handled = handledMessages(metrics);
  }

  /** Required before `insertion`; everything else starts by itself. May be called again. */
  start(): Promise<void> {
    this.starting ??= this.boss.start().then(() => this.readInsertions());
    return this.starting;
  }

  /** Handlers should have been stopped; the messages of one that still runs are retried. May be called again. */
  stop(): Promise<void> {
    this.stopping ??= this.starting === undefined ? Promise.resolve() : this.boss.stop({ graceful: false });
    return this.stopping;
  }

  /** Registers `handler` with pg-boss's `work`: the messages of `queue` are delivered to it, one batch at a time. */
  async handle<Name extends QueueName>(
    queue: Name,
    { batchSize = 1, pollSeconds = 1 }: HandleOptions,
    handler: (messages: readonly QueueData[Name][]) => Promise<void>,
  ): Promise<QueueHandler> {
    await this.start();
    const options = { batchSize, pollingIntervalSeconds: pollSeconds, burstWhenBatchFull: true };
    const id = await this.boss.work<QueueData[Name]>(queue, options, async (jobs) => {
      try {
        await handler(jobs.map(({ data }) => data));
        this.handled.inc({ queue, outcome: 'completed' }, jobs.length);
      } catch (error) {
        this.handled.inc({ queue, outcome: 'failed' }, jobs.length);
        throw error;
      }
    });
    return {
      wake: () => {
        this.boss.notifyWorker(id);
      },
      stop: () => this.boss.offWork(queue, { id, wait: true }),
    };
  }

  /** Sends messages in the transaction `tx`: a rollback takes them back. */
  async send<Name extends QueueName>(
    tx: PrismaTransaction,
    queue: Name,
    messages: readonly QueueMessage<Name>[],
  ): Promise<void> {
    await this.start();
    await this.boss.insert(queue, messages.map(toInsert), { db: fromPrisma(tx) });
  }

  /**
   * The statement that sends messages, for a transaction that is sent as a whole. It is pg-boss's own, taken from its `insert` by the
   * `db` option when `start` ran. Throws before that.
   */
  insertion<Name extends QueueName>(queue: Name, messages: readonly QueueMessage<Name>[]): SqlStatement {
    const text = this.insertions.get(queue);
    if (text === undefined) throw new Error('the queues are not started');
    return { name: `send-${queue}`, text, values: [JSON.stringify(messages.map(toInsert))] };
  }

  /** Sends an empty message at each instant of `cron` (UTC), once for the whole installation. May be called again. */
  async schedule(queue: QueueName, cron: string): Promise<void> {
    await this.start();
    await this.boss.schedule(queue, cron);
  }

  private async readInsertions(): Promise<void> {
    const probe = { data: { probe: true } };
    for (const queue of insertedQueues) {
      const capture = (text: string, values: unknown[] = []) => {
        if (values.length !== 1 || values[0] !== JSON.stringify([probe]))
          throw new Error('this version of pg-boss passes messages in another way');
        this.insertions.set(queue, text);
        return Promise.resolve({ rows: [] });
      };
      await this.boss.insert(queue, [probe], { db: { executeSql: capture } });
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

/** pg-boss's timers keep no process alive, like those of our own clock. */
const unreferencedClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, ms).unref(),
  clearTimeout: (timer) => {
    clearTimeout(timer as NodeJS.Timeout); // made above
  },
  setInterval: (run, ms) => setInterval(run, ms).unref(),
  clearInterval: (timer) => {
    clearInterval(timer as NodeJS.Timeout); // made above
  },
};

type AnyMessage = Omit<QueueMessage, 'data'> & { readonly data: object | null };

function toInsert({ data, id, startAfter }: AnyMessage) {
  return {
    ...(id === undefined ? {} : { id }),
    ...(data === null ? {} : { data }),
    ...(startAfter === undefined ? {} : { startAfter: new Date(startAfter) }),
  };
}
