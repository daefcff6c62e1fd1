import pg from 'pg';

const CHANNEL = 'nightshift_bus';
const ANSWER_MS = 5_000;

interface NotifyEvents {
  readonly onPayload: (payload: string) => void;
  /** Runs once, when the connection breaks without `close`. */
  readonly onLost: (connection: NotifyConnection, error: Error) => void;
}

/** One Postgres session that listens and notifies. When it is lost it stays lost; open another. */
export class NotifyConnection {
  private ended = false;

  private constructor(
    private readonly client: pg.Client,
    private readonly events: NotifyEvents,
  ) {}

  /** Resolves when LISTEN is in force: what is notified from now on arrives. */
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

  /** One statement for all payloads. Never rejects: a failure is a lost connection, and so is a refusal. */
  async notify(payloads: readonly string[]): Promise<void> {
    await this.ask('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [CHANNEL, payloads]);
  }

  /** Finds out whether the server still answers; `onLost` runs when it does not. */
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
