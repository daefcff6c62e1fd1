import type { INestApplicationContext } from '@nestjs/common';

import { ApprovalsModule, type ClientCall, clientToolInterrupt, ClientToolsService } from '#approvals';
import type { MemberPrincipal } from '#auth';
import { insertInterrupt, InterruptTimers, JobQueue, JobsModule, JobStarter, JobUpdater } from '#jobs';
import { AppError, Config, createLogger, newId, openPlatform, PlatformModule, Redactor } from '#platform';
import { newCallRow, type ToolCallStatus, type ToolFailure } from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { claimOne } from './claim-one.js';
import { TEST_SECRET, type TestDatabase } from './database.js';
import { writeOf } from './jobs.js';
import { openTestingModule } from './testing-module.js';

/** A job that waits for clients. */
export interface WaitingCalls {
  readonly jobId: string;
  /** `call_1`, `call_2` … */
  readonly callIds: readonly string[];
}

/** What differs from a call of `open_file`, on any device, that waits for 24 hours. */
export interface CallOptions extends Partial<Pick<ClientCall, 'deviceId' | 'wait' | 'effect' | 'toolTimeoutMs'>> {
  readonly count?: number;
}

/** The columns of a ledger row that specs read. */
export interface CallState {
  readonly status: ToolCallStatus;
  readonly executor: string;
  readonly result: string | null;
  readonly error: ToolFailure | null;
}

/** The services for client tools over a test database, without a worker: the test inserts the calls. */
export interface TestClientCalls {
  readonly app: INestApplicationContext;
  readonly service: ClientToolsService;
  /** A waiting job of this user whose round asked for `count` calls, with an open request for each. */
  open(principal: MemberPrincipal, options?: CallOptions): Promise<WaitingCalls>;
  calls(jobId: string): Promise<readonly CallState[]>;
  jobStatus(jobId: string): Promise<string>;
  /** Statuses of the requests of a job, oldest first, each with its kind and outcome. */
  requests(jobId: string): Promise<readonly string[]>;
  /** The statuses of a job's calls in its `tool-call-updated` events, in order. */
  updates(jobId: string): Promise<readonly string[]>;
  /** Moves the expiry of the claims on a job's calls into the past. */
  lapse(jobId: string): Promise<void>;
  /** Moves the deadline of a job's requests into the past. */
  expire(jobId: string): Promise<void>;
  /** Runs the timers of a worker once. */
  look(): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const definition = {
  type: 'function',
  function: { name: 'open_file', parameters: { type: 'object', properties: { path: { type: 'string' } } } },
} as const;

/** The error of a promise: its code, its message and the status of the call. */
export async function refusal(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { callStatus } = error.details;
    return [error.code, error.message, ...(callStatus === undefined ? [] : [callStatus])];
  }
}

/** To simulate another process over the same database, call it again. */
export async function openTestClientCalls(database: TestDatabase): Promise<TestClientCalls> {
  const { app, platform } = await openTools(database);
  const rows = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await platform.postgres.workerPool.query<Row>(sql, [...values])).rows;
  const texts = async (sql: string, jobId: string) =>
    (await rows<{ text: string }>(sql, [jobId])).map((row) => row.text);
  return {
    app,
    rows,
    service: app.get(ClientToolsService),
    open: async (principal, options = {}) => {
      const { workspaceId } = principal;
      await platform.postgres.withWorkspaceSql(workspaceId, (client) =>
        client.query('UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000 WHERE id = $1', [workspaceId]),
      );
      const waiting = await layOut(app, principal, options);
      await rows(`UPDATE job SET status = 'waiting', lease_owner = NULL, lease_until = NULL WHERE id = $1`, [
        waiting.jobId,
      ]);
      return waiting;
    },
    calls: (jobId) =>
      rows(`SELECT status, executor, result, error FROM tool_call WHERE job_id = $1 ORDER BY ordinal`, [jobId]),
    jobStatus: async (jobId) => (await texts('SELECT status AS text FROM job WHERE id = $1', jobId))[0] ?? 'absent',
    requests: (jobId) => texts(requestsSql, jobId),
    updates: (jobId) => texts(updatesSql, jobId),
    lapse: async (jobId) => {
      await rows(`UPDATE interrupt SET claim_until = clock_timestamp() - interval '1 s' WHERE job_id = $1`, [jobId]);
    },
    expire: async (jobId) => {
      await rows(`UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE job_id = $1`, [jobId]);
    },
    look: () => app.get(InterruptTimers).sweep(),
    close: async () => {
      await app.close();
      await platform.close();
    },
  };
}

const requestsSql = `SELECT concat_ws(' ', kind, status, outcome->>'outcome') AS text FROM interrupt WHERE job_id = $1 ORDER BY id`;
const updatesSql = `SELECT body->>'internalStatus' AS text FROM job_event WHERE job_id = $1 AND type = 'tool-call-updated'
  ORDER BY seq`;

async function openTools(database: TestDatabase) {
  const config = Config.from({ NODE_ENV: 'test', LOG_LEVEL: 'silent' });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const redactor = new Redactor();
  const platform = await openPlatform({ config, logger, redactor, urls: database.urls, secret: TEST_SECRET });
  const app = await openTestingModule({ imports: [PlatformModule.with(platform), JobsModule, ApprovalsModule] });
  await app.get(JobQueue).start();
  return { app, platform };
}

/** Writes what a worker would have written: the round's calls, and then the request for each of them. */
async function layOut(
  app: INestApplicationContext,
  principal: MemberPrincipal,
  options: CallOptions,
): Promise<WaitingCalls> {
  const { workspaceId } = principal;
  const jobId = newId();
  await app.get(JobStarter).start(startRequest(principal, jobId));
  const job = await claimOne(app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
  if (job === undefined) throw new Error('the job cannot be claimed');
  const { count = 1, effect = 'once' } = options;
  const calls = Array.from({ length: count }, (_, i) => ({ ...call, ordinal: i + 1, callId: `call_${i + 1}`, effect }));
  const write = writeOf(job, 1, { rows: calls.map((one) => newCallRow(job, 1, one)) });
  const [written] = await app.get(EventLogRepository).commit([write]);
  if (written instanceof Error) throw written;
  await app.get(JobUpdater).update(workspaceId, jobId, async (held) => {
    const where = { workspaceId, jobId };
    const rows = await held.client.toolCall.findMany({
      where,
      orderBy: { ordinal: 'asc' },
      select: { id: true, callId: true },
    });
    for (const { id: toolCallId, callId } of rows) {
      const shared = { id: newId(), toolCallId, job, definition, deviceId: null, toolTimeoutMs: 10_000 };
      const asked = { ...shared, ...options, effect, call: { ...call, callId } };
      held.send(...(await insertInterrupt(held.client, held, clientToolInterrupt(asked))));
    }
  });
  return { jobId, callIds: calls.map(({ callId }) => callId) };
}

const call = {
  name: 'open_file',
  arguments: '{"path":"a"}',
  status: 'awaiting_client',
  result: null,
  error: null,
  ranMs: null,
  runtime: 'client',
} as const;

function startRequest({ id: principal, workspaceId, userId: createdBy }: MemberPrincipal, jobId: string) {
  return {
    jobId,
    workspaceId,
    kind: 'chat',
    principal,
    createdBy,
    thread: { ref: `the thread of ${jobId}`, createTitle: 'Test' },
    messageClientId: `the message of ${jobId}`,
    model: 'scripted',
    input: { messages: [] },
    keyCipher: null,
    retryOf: null,
    idempotency: null,
  } as const;
}
