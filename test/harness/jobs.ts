import type { INestApplicationContext } from '@nestjs/common';

import {
  type ClaimedJob,
  JobHandlers,
  type JobOutcome,
  JobQueue,
  type JobRun,
  JobsModule,
  JobStarter,
  type StartedJob,
} from '#jobs';
import { Config, createLogger, newId, openPlatform, type Platform, PlatformModule, Redactor } from '#platform';

import { type JobWrite, noCounts } from '../../libs/jobs/src/events/commit-statement.js';
import { Presence } from '../../libs/jobs/src/presence/presence.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import type { StartRequest } from '../../libs/jobs/src/start/start-request.js';
import { claimOne } from './claim-one.js';
import type { TestDatabase } from './database.js';
import { seedWorkspace } from './engine.js';
import { openTestingModule } from './testing-module.js';

/** The jobs library over a test database, with only the handlers of the test and without background loops. */
export interface TestJobs {
  readonly app: INestApplicationContext;
  readonly platform: Platform;
  readonly workspaceId: string;
  readonly userId: string;
  /** A request for a job outside any thread. */
  request(changes?: Partial<StartRequest>): StartRequest;
  /** Starts `count` jobs outside any thread. */
  start(count: number): Promise<readonly StartedJob[]>;
  /** Claims one queued or expired job; throws when it cannot be claimed. */
  claim(jobId: string, owner?: string): Promise<ClaimedJob>;
  /** Moves the lease of a running job into the past. */
  expire(jobId: string): Promise<void>;
  /** Sets the handler of jobs of kind `chat`. */
  handle(run: (run: JobRun) => Promise<JobOutcome>): void;
  /** Rows of `sql` as the workers' role. */
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** The part of a job's row that specs look at. */
export interface JobState {
  readonly status: string;
  readonly lease_epoch: number;
  readonly last_seq: number;
  readonly attempts: number;
  readonly reason: string | null;
  readonly in_line: boolean;
}

const secret = 'the secret of the test databases';

export async function openTestJobs(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<TestJobs> {
  const config = Config.from({ NODE_ENV: 'test', LOG_LEVEL: 'silent', ...env });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const platform = await openPlatform({ config, logger, redactor: new Redactor(), urls: database.urls, secret });
  const app = await openTestingModule({ imports: [PlatformModule.with(platform), JobsModule] });
  const { workspaceId, userId } = await seedWorkspace(database);
  // On a busy machine a viewer may need long before it counts as present.
  Reflect.set(app.get(Presence), 'timeoutMs', 100_000);
  await app.get(JobQueue).start();
  const rows = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await platform.postgres.workerPool.query<Row>(sql, [...values])).rows;
  const request = (changes: Partial<StartRequest> = {}) => ({ ...requestOf(workspaceId), ...changes });
  return {
    app,
    platform,
    workspaceId,
    userId,
    rows,
    request,
    start: (count) => Promise.all(Array.from({ length: count }, () => app.get(JobStarter).start(request()))),
    claim: async (jobId, owner = 'a worker') => {
      const job = await claimOne(app.get(LeaseRepository), { workspaceId, jobId }, owner);
      if (job === undefined) throw new Error(`job ${jobId} cannot be claimed`);
      return job;
    },
    expire: async (jobId) => {
      await rows(`UPDATE job SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1`, [jobId]);
    },
    handle: (run) => {
      app.get(JobHandlers).register({ kind: 'chat', run });
    },
    close: async () => {
      await app.close();
      await platform.close();
    },
  };
}

function requestOf(workspaceId: string): StartRequest {
  return {
    jobId: newId(),
    workspaceId,
    kind: 'chat',
    principal: 'system',
    createdBy: null,
    thread: null,
    messageClientId: null,
    model: 'scripted',
    input: { messages: [] },
    keyCipher: null,
    retryOf: null,
    idempotency: null,
  };
}

/** Write `number` under the lease of `job`. */
export function writeOf(job: ClaimedJob, number: number, changes: Partial<JobWrite> = {}): JobWrite {
  const { workspaceId, jobId, epoch } = job;
  const event = { type: 'warning', body: { code: 'note', text: `${epoch}/${number}` } } as const;
  return {
    workspaceId,
    jobId,
    epoch,
    number,
    attempt: 0,
    events: [event],
    rows: [],
    unlessCancelled: false,
    progress: false,
    counts: noCounts,
    ...changes,
  };
}

/** The write that ends `job` as completed. */
export function endOf(job: ClaimedJob, number: number): JobWrite {
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  const body = { status: 'completed', reason: 'stop', content_length: 0, usage, durationMs: 0 } as const;
  return writeOf(job, number, {
    events: [{ type: 'job-finished', body: { ...body, toolCalls: 0, rounds: 0 } }],
    move: { to: 'completed', reason: 'stop' },
  });
}
