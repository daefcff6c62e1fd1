import type { INestApplicationContext } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { JobQueue, JobsModule, JobStarter } from '#jobs';
import { Config, createLogger, newId, openPlatform, type Platform, PlatformModule, Redactor } from '#platform';
import {
  defineTool,
  newCallRow,
  queueNewCallRow,
  type Tool,
  type ToolContext,
  type ToolEffect,
  ToolQueueModule,
  ToolQueueSweeper,
  ToolResults,
  ToolWorker,
} from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import type { StartRequest } from '../../libs/jobs/src/start/start-request.js';
import type { ToolProgressMessage, ToolResponse } from '../../libs/tools/src/remote/queue-message.js';
import { claimOne } from './claim-one.js';
import { TEST_SECRET, type TestDatabase } from './database.js';
import { seedWorkspace } from './engine.js';
import { eventually } from './eventually.js';
import { writeOf } from './jobs.js';
import { openTestingModule } from './testing-module.js';

/** A running call of a test tool. */
export interface Handling {
  readonly name: string;
  readonly context: ToolContext;
  readonly args: Readonly<Record<string, unknown>>;
  readonly finish: (result: unknown) => void;
  readonly fail: (error: Error) => void;
}

/** A call that waits in the queue, with its waiting job. */
export interface SentCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
}

export interface CallState {
  readonly status: string;
  readonly result: string | null;
  readonly error: { readonly phase: string; readonly message: string } | null;
  readonly exec_epoch: number;
  readonly exec_attempts: number;
  readonly taken: boolean;
}

/** The tool queue over a test database: nothing runs without a command of the test, which sends the calls and decides their results. */
export interface TestToolQueue {
  readonly app: INestApplicationContext;
  readonly platform: Platform;
  readonly workspaceId: string;
  /** Resolves with the `count`-th call of a tool in all, once its handler was entered. */
  handling(count: number): Promise<Handling>;
  /** Sends calls of one round of a new job, which then waits. Tools are named by their effect. */
  send(...tools: readonly string[]): Promise<readonly SentCall[]>;
  /** Sends one. */
  sendOne(tool: string): Promise<SentCall>;
  callOf(sent: SentCall): Promise<CallState>;
  jobOf(sent: SentCall): Promise<{ readonly status: string; readonly reason: string | null }>;
  eventsOf(sent: SentCall): Promise<readonly { readonly type: string; readonly body: Record<string, unknown> }[]>;
  /** Resolves once the call has this status. */
  reached(sent: SentCall, status: string): Promise<CallState>;
  /** Moves the claim of a call into the past. */
  expire(sent: SentCall): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface TestToolQueueOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly workspaceId?: string;
}

const effects: readonly ToolEffect[] = ['pure', 'idempotent', 'once'];

export async function openTestToolQueue(
  database: TestDatabase,
  options: TestToolQueueOptions = {},
): Promise<TestToolQueue> {
  const handled: Handling[] = [];
  const { app, platform } = await openApp(database, { env: options.env ?? {}, handled });
  const workspaceId = options.workspaceId ?? (await seedWorkspace(database)).workspaceId;
  const rows = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await platform.postgres.workerPool.query<Row>(sql, [...values])).rows;
  const first = async <Row extends object>(sql: string, values: readonly unknown[]): Promise<Row> => {
    const [row] = await rows<Row>(sql, values);
    if (row === undefined) throw new Error(`no row for ${sql}`);
    return row;
  };
  const callOf = ({ id }: SentCall) => first<CallState>(callSql, [id]);
  const send = (...names: readonly string[]) => sendCalls(app, workspaceId, names);
  return {
    app,
    platform,
    workspaceId,
    rows,
    callOf,
    send,
    sendOne: async (name) => {
      const [sent] = await send(name);
      if (sent === undefined) throw new Error('nothing was sent');
      return sent;
    },
    handling: (count) => eventually(`${count} calls are handled`, () => handled[count - 1]),
    jobOf: ({ jobId }) => first('SELECT status, reason FROM job WHERE id = $1', [jobId]),
    eventsOf: ({ jobId }) => rows('SELECT type, body FROM job_event WHERE job_id = $1 ORDER BY seq', [jobId]),
    reached: (sent, status) =>
      eventually(`call ${sent.id} is ${status}`, async () => {
        const call = await callOf(sent);
        return call.status === status ? call : undefined;
      }),
    expire: async ({ id }) => {
      await rows(`UPDATE tool_call SET exec_until = clock_timestamp() - interval '1 s' WHERE id = $1`, [id]);
    },
    close: () => closeApp(app, platform),
  };
}

const callSql = `SELECT status, result, error, exec_epoch, exec_attempts, exec_until IS NOT NULL AS taken FROM tool_call WHERE id = $1`;

async function openApp(
  database: TestDatabase,
  { env, handled }: { readonly env: Readonly<Record<string, string>>; readonly handled: Handling[] },
) {
  const config = Config.from({ NODE_ENV: 'test', LOG_LEVEL: 'silent', BUS: 'memory', ...env });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const redactor = new Redactor();
  const platform = await openPlatform({ config, logger, redactor, urls: database.urls, secret: TEST_SECRET });
  const tools = effects.map((effect) => watchedTool(effect, handled));
  const providers = tools.map((tool) => ({ provide: tool.name, useValue: tool }));
  const app = await openTestingModule({
    imports: [PlatformModule.with(platform), JobsModule, ApprovalsModule, ToolQueueModule],
    providers,
  });
  await app.get(JobQueue).start();
  return { app, platform };
}

async function closeApp(app: INestApplicationContext, platform: Platform): Promise<void> {
  await app.get(ToolWorker).stop(0);
  await app.get(ToolQueueSweeper).stop();
  await app.get(ToolResults).stop();
  await app.close();
  await platform.close();
}

/** A response to a call, as a tool process of this epoch would send it; a success without changes. */
export function responseTo(sent: SentCall, epoch: number, changes: Partial<ToolResponse> = {}): ToolResponse {
  return {
    type: 'tool_response',
    correlation_id: sent.id,
    workspace_id: sent.workspaceId,
    job_id: sent.jobId,
    status: 'success',
    result: { content: `result of ${epoch}`, success: true },
    error: null,
    timestamp: 1,
    exec_epoch: epoch,
    attempt: epoch,
    started: true,
    ...changes,
  };
}

/** Progress number `seq` of the claim with this epoch. */
export function progressOf(sent: SentCall, seq: number, epoch = 1): ToolProgressMessage {
  return {
    type: 'tool_progress',
    correlation_id: sent.id,
    workspace_id: sent.workspaceId,
    job_id: sent.jobId,
    seq,
    chunk: { progress: seq },
    is_final_chunk: false,
    timestamp: 1,
    exec_epoch: epoch,
  };
}

/** The tool of a test tool queue that is named by this effect. */
export function watchedTool(effect: ToolEffect, handled: Handling[]): Tool {
  return defineTool({
    name: effect,
    description: `is controlled by the test, ${effect}`,
    effect,
    isolation: 'queue',
    timeoutMs: 30_000,
    input: { type: 'object', properties: {} },
    execute: (args, context) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      handled.push({ name: effect, args, context, finish: resolve, fail: reject });
      return promise;
    },
  });
}

/** A tool with a limit of calls that run at once in a workspace. */
interface LimitedTool {
  readonly name: string;
  readonly concurrency: number;
}

/** Sends calls of one round of a new job, which then waits. Tools are named by their effect. */
export async function sendCalls(
  app: INestApplicationContext,
  workspaceId: string,
  wanted: readonly (string | LimitedTool)[],
): Promise<readonly SentCall[]> {
  const { jobId } = await app.get(JobStarter).start(requestOf(workspaceId));
  const job = await claimOne(app.get(LeaseRepository), { workspaceId, jobId }, 'the test');
  if (job === undefined) throw new Error('the job cannot be claimed');
  const tools = wanted.map((tool) => (typeof tool === 'string' ? { name: tool, concurrency: null } : tool));
  const calls = tools.map(({ name, concurrency }, i) => ({
    id: newId(),
    ordinal: i + 1,
    callId: `call_${i + 1}`,
    name,
    concurrency,
    arguments: `{"n":${i + 1}}`,
    effect: effects.find((effect) => effect === name) ?? 'once',
  }));
  const log = app.get(EventLogRepository);
  const sent = calls.flatMap((call) => [
    newCallRow(job, 1, { ...call, status: 'running', executor: 'queue', result: null, error: null, ranMs: null }),
    queueNewCallRow(job, { ...call, round: 1, ttlMs: app.get(Config).values.TOOL_QUEUE_TTL_MS }),
  ]);
  const written = [
    ...(await log.commit([writeOf(job, 1, { rows: sent })])),
    ...(await log.commit([writeOf(job, 2, { move: { to: 'waiting', externalUpdates: job.externalUpdates } })])),
  ];
  for (const answer of written) if (answer instanceof Error) throw answer;
  return calls.map(({ id }) => ({ workspaceId, jobId, id }));
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
