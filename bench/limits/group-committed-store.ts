import pg from 'pg';

import { GroupWriter, systemClock } from '#platform';

import type { LoopStore } from './bare-loop.js';

/** The least a durable job could write: one plain row a time, those of all jobs together in one commit. */
export class GroupCommittedStore implements LoopStore {
  private readonly writer: GroupWriter<{ readonly jobId: string; readonly text: string }, undefined>;

  private constructor(private readonly client: pg.Client) {
    this.writer = new GroupWriter(
      async (items) => {
        await client.query({
          name: 'bench-write',
          text: 'INSERT INTO bench_write SELECT * FROM unnest($1::uuid[], $2::text[])',
          values: [items.map(({ jobId }) => jobId), items.map(({ text }) => text)],
        });
        return items.map(() => undefined);
      },
      systemClock,
      { tickMs: 0, maxBatch: 500 },
    );
  }

  static async open(url: string): Promise<GroupCommittedStore> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('CREATE TABLE IF NOT EXISTS bench_write (job_id uuid NOT NULL, text text NOT NULL)');
    return new GroupCommittedStore(client);
  }

  async write(jobId: string, text: string): Promise<void> {
    await this.writer.submit({ jobId, text });
  }

  async close(): Promise<void> {
    await this.client.end();
  }
}
