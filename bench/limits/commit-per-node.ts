import pg from 'pg';

import { newId } from '#platform';

import type { JobClient, JobTimes } from '../measure/load.js';

/** Nodes of a workflow, wave by wave. */
export type Waves = readonly number[];

/**
 * The simplest durable workflow engine: a row for each node, each in a transaction of its own, the nodes of a wave side by
 * side. Nothing is executed or published.
 */
export class CommitPerNode implements JobClient {
  private constructor(
    private readonly pool: pg.Pool,
    private readonly waves: Waves,
  ) {}

  static async open(url: string, waves: Waves): Promise<CommitPerNode> {
    const pool = new pg.Pool({ connectionString: url, max: 20 });
    await pool.query(
      'CREATE TABLE IF NOT EXISTS bench_node (job_id uuid NOT NULL, node int NOT NULL, output text NOT NULL)',
    );
    return new CommitPerNode(pool, waves);
  }

  async run(): Promise<JobTimes> {
    const startedAt = performance.now();
    const jobId = newId();
    for (const width of this.waves) {
      await Promise.all(Array.from({ length: width }, (_, node) => this.write(jobId, node)));
    }
    const totalMs = performance.now() - startedAt;
    return { firstDeltaMs: totalMs, totalMs };
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private async write(jobId: string, node: number): Promise<void> {
    await this.pool.query({
      name: 'bench-node',
      text: 'INSERT INTO bench_node VALUES ($1, $2, $3)',
      values: [jobId, node, 'x'],
    });
  }
}
