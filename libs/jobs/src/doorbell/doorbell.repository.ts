import { Inject, Injectable } from '@nestjs/common';
import { PgBoss } from 'pg-boss';

import { LOGGER, type Logger, Postgres, type SqlClient } from '#platform';

import type { JobRef } from '../job.js';
import { doorbellQueue } from './doorbell-part.repository.js';

interface Ring {
  readonly jobs: readonly JobRef[];
}

const ringsAtOnce = 100;

/** pg-boss as a doorbell: ids in, ids out. Its retries, expiry and states carry no meaning for a job. */
@Injectable()
export class DoorbellRepository {
  private readonly boss: PgBoss;
  private started = false;

  constructor(postgres: Postgres, @Inject(LOGGER) logger: Logger) {
    this.boss = new PgBoss({
      db: { executeSql: (text, values) => postgres.engine.query(text, values) },
      schema: 'pgboss',
      migrate: false,
      createSchema: false,
      schedule: false,
      // Doorbells are removed when they are answered; what a worker took and could not remove ends by pg-boss's own care.
      supervise: true,
    });
    this.boss.on('error', (error) => {
      logger.warn({ err: error }, 'the doorbell queue reported an error');
    });
  }

  async start(): Promise<void> {
    if (this.started) return;
    this.started = true;
    await this.boss.start();
  }

  async stop(): Promise<void> {
    if (!this.started) return;
    this.started = false;
    await this.boss.stop({ graceful: false });
  }

  /** Sends one message in the caller's transaction: a rollback takes it along. */
  async send(client: SqlClient, kind: string, refs: readonly JobRef[]): Promise<void> {
    const ring: Ring = { jobs: refs.map(({ workspaceId, jobId }) => ({ workspaceId, jobId })) };
    await this.boss.send(doorbellQueue(kind), ring, {
      db: { executeSql: (text, values) => client.query(text, values) },
      retryLimit: 0,
    });
  }

  async take(kind: string): Promise<JobRef[]> {
    const queue = doorbellQueue(kind);
    const rings = await this.boss.fetch<Ring>(queue, { batchSize: ringsAtOnce });
    if (rings.length === 0) return [];
    await this.boss.deleteJob(
      queue,
      rings.map(({ id }) => id),
    );
    return rings.flatMap(({ data }) => data.jobs);
  }
}
