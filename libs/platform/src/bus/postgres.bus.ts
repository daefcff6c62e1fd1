import pg from 'pg';

import { type Clock, systemClock, type Timer } from '../clock.js';
import type { Logger } from '../logger.js';
import type { Bus, BusMessages, BusTopic } from './bus.js';
import { BusListeners } from './bus-listeners.js';
import { decodeHints, encodeHints } from './hint-codec.js';
import { PendingHints, toHint } from './pending-hints.js';

export interface PostgresBusOptions {
  /** The URL of the workers' login. It must connect directly, because LISTEN does not work through a transaction pooler. */
  readonly url: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Minimum time between two NOTIFY statements, in ms. Default 5. */
  readonly hintIntervalMs?: number;
}

/**
 * Delays of reconnects, in ms: they double from `first` to `max`. Half of a delay is random, so that processes do not reconnect at the same
 * time.
 */
const RECONNECT_MS = { first: 100, max: 5_000 };
const HEARTBEAT_MS = 15_000;

/**
 * Uses NOTIFY and LISTEN on a separate connection, outside of every transaction, because NOTIFY takes a cluster-wide lock until the commit.
 * Hints of this process reach its own subscribers directly, and their notifications are ignored. While the connection is down, a bounded
 * number of hints is pending; after a reconnect, `onGap` listeners run.
 */
export class PostgresBus implements Bus {
  private readonly listeners: BusListeners;
  private readonly pending = new PendingHints();
  private readonly clock: Clock;
  private readonly hintIntervalMs: number;
  private connection: NotifyConnection | undefined;
  private state: 'new' | 'started' | 'stopped' = 'new';
  private failures = 0;
  private sending: Promise<void> | undefined;
  private scheduled = false;
  private lastSentAt = Number.NEGATIVE_INFINITY;
  private readonly timers = new Map<'send' | 'reconnect' | 'heartbeat', Timer>();

  constructor(private readonly options: PostgresBusOptions) {
    this.listeners = new BusListeners(options.logger);
    this.clock = options.clock ?? systemClock;
    this.hintIntervalMs = options.hintIntervalMs ?? 5;
  }

  publish<T extends BusTopic>(topic: T, message: BusMessages[T]): void {
    if (this.state === 'stopped') return;
    const hint = toHint(topic, message);
    this.listeners.deliver(hint);
    this.pending.add(hint);
    this.schedule();
  }

  subscribe<T extends BusTopic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    return this.listeners.subscribe(topic, listener);
  }

  onGap(listener: () => void): () => void {
    return this.listeners.onGap(listener);
  }

  /** Rejects if the database cannot be reached now. After later losses, the bus reconnects in the background. */
  async start(): Promise<void> {
    if (this.state !== 'new') return;
    await this.connect();
    this.state = 'started';
    this.schedule();
  }

  async stop(): Promise<void> {
    if (this.state === 'stopped') return;
    this.state = 'stopped';
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
    this.listeners.flush();
    await this.sending;
    await this.send();
    const connection = this.connection;
    this.connection = undefined;
    await connection?.close();
  }

  private async connect(): Promise<void> {
    this.connection = await NotifyConnection.open(this.options.url, {
      onPayload: (payload) => {
        for (const hint of decodeHints(payload)) this.listeners.deliver(hint);
      },
      onLost: (connection, error) => {
        this.lost(connection, error);
      },
    });
    this.failures = 0;
    this.timer('heartbeat', HEARTBEAT_MS, () => void this.heartbeat());
  }

  private lost(connection: NotifyConnection, error: Error): void {
    if (this.connection !== connection) return;
    this.connection = undefined;
    if (this.state !== 'started') return;
    this.options.logger.warn({ err: error }, 'the bus lost its connection');
    this.reconnectLater();
  }

  private reconnectLater(): void {
    const full = Math.min(RECONNECT_MS.first * 2 ** this.failures, RECONNECT_MS.max);
    this.failures += 1;
    this.timer('reconnect', full / 2 + (Math.random() * full) / 2, () => void this.reconnect());
  }

  private async reconnect(): Promise<void> {
    try {
      await this.connect();
    } catch (err) {
      this.options.logger.debug({ err }, 'the bus is still without a connection');
      if (this.isStarted()) this.reconnectLater();
      return;
    }
    if (!this.isStarted()) {
      await this.connection?.close();
      return;
    }
    this.listeners.gap();
    this.schedule();
  }

  /** A server that stops responding sends no reset: only a query without a response reveals it. */
  private async heartbeat(): Promise<void> {
    await this.connection?.check();
    if (this.isStarted() && this.connection !== undefined) {
      this.timer('heartbeat', HEARTBEAT_MS, () => void this.heartbeat());
    }
  }

  private schedule(): void {
    if (this.scheduled || this.sending !== undefined || this.pending.size === 0) return;
    if (!this.isStarted() || this.connection === undefined) return;
    this.scheduled = true;
    const wait = this.lastSentAt + this.hintIntervalMs - this.clock.monotonic();
    if (wait > 0) this.timer('send', wait, () => void this.flush());
    else setImmediate(() => void this.flush());
  }

  private async flush(): Promise<void> {
    this.scheduled = false;
    if (this.sending !== undefined) return;
    this.sending = this.send();
    await this.sending;
    this.sending = undefined;
    this.schedule();
  }

  /** Hints that were being sent when the connection broke are not sent again: delivery is at most once. */
  private async send(): Promise<void> {
    const connection = this.connection;
    if (connection === undefined || this.pending.size === 0) return;
    this.lastSentAt = this.clock.monotonic();
    await connection.notify(encodeHints(this.pending.take()));
  }

  private timer(name: 'send' | 'reconnect' | 'heartbeat', ms: number, run: () => void): void {
    this.timers.get(name)?.cancel();
    this.timers.set(name, this.clock.after(ms, run));
  }

  /** A method instead of a comparison, because the state may change during an `await`. */
  private isStarted(): boolean {
    return this.state === 'started';
  }
}

const CHANNEL = 'nightshift_bus';
const ANSWER_MS = 5_000;

interface NotifyEvents {
  readonly onPayload: (payload: string) => void;
  /** Runs once if the connection breaks without `close`. */
  readonly onLost: (connection: NotifyConnection, error: Error) => void;
}

/** One Postgres session that listens and notifies. After a loss, open another one. */
export class NotifyConnection {
  private ended = false;

  private constructor(
    private readonly client: pg.Client,
    private readonly events: NotifyEvents,
  ) {}

  /** Resolves when LISTEN is in force: later notifications arrive. */
  static async open(url: string, events: NotifyEvents): Promise<NotifyConnection> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'nightshift:bus',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    const connection = new NotifyConnection(client, events);
    client.on('error', (error) => {
      connection.lose(error);
    });
    client.on('end', () => {
      connection.lose(new Error('the server closed the connection'));
    });
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      client.on('notification', ({ processId, payload }) => {
        if (processId !== rows[0]?.pid && payload !== undefined) events.onPayload(payload);
      });
      await client.query(`LISTEN ${CHANNEL}`);
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Sends all payloads with one statement. Never rejects: any failure counts as a lost connection. */
  async notify(payloads: readonly string[]): Promise<void> {
    await this.ask('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [CHANNEL, payloads]);
  }

  /** Checks whether the server responds; otherwise `onLost` runs. */
  async check(): Promise<void> {
    await this.ask('SELECT 1', []);
  }

  async close(): Promise<void> {
    this.ended = true;
    await this.client.end().catch(() => undefined);
  }

  private async ask(sql: string, values: unknown[]): Promise<void> {
    if (this.ended) return;
    try {
      await this.client.query(sql, values);
    } catch (error) {
      this.lose(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private lose(error: Error): void {
    if (this.ended) return;
    void this.close();
    this.events.onLost(this, error);
  }
}
