import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { Doorbell, JobsModule, JobStarter } from '#jobs';
import { Config, createLogger, newId, openPlatform, type Platform, PlatformModule, Redactor } from '#platform';
import {
  defineTool,
  newCallRow,
  queueNewCallRow,
  type Tool,
  type ToolContext,
  type ToolEffect,
  ToolQueueModule,
} from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import type { StartRequest } from '../../libs/jobs/src/start/start-request.js';
import { TEST_SECRET, type TestDatabase } from './database.js';
import { seedWorkspace } from './engine.js';
import { eventually } from './eventually.js';
import { writeOf } from './jobs.js';

/** What a test tool is doing. */
export interface Handling {
  readonly name: string;
  readonly context: ToolContext;
  readonly args: Readonly<Record<string, unknown>>;
  finish(result: unknown): void;
  fail(error: Error): void;
}

/** A call that waits in the queue, with its job at rest. */
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

/** The isolated tool queue over a test database: nothing runs by itself, calls are sent by hand, tools do what the test says. */
export interface TestToolQueue {
  readonly app: INestApplicationContext;
  readonly platform: Platform;
  readonly workspaceId: string;
  /** Resolves with the `count`-th call of a tool in all, once its handler was entered. */
  handling(count: number): Promise<Handling>;
  /** Sends calls of one round of a new job, which then waits. Tools are named by their effect. */
  send(...tools: readonly string[]): Promise<readonly SentCall[]>;
  callOf(sent: SentCall): Promise<CallState>;
  jobOf(sent: SentCall): Promise<{ readonly status: string; readonly reason: string | null }>;
  eventsOf(sent: SentCall): Promise<readonly { readonly type: string; readonly body: Record<string, unknown> }[]>;
  /** Resolves once the call has this status. */
  reached(sent: SentCall, status: string): Promise<CallState>;
  /** Lets the claim of a call lie in the past. */
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
  const config = Config.from({ NODE_ENV: 'test', LOG_LEVEL: 'silent', BUS: 'memory', ...options.env });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const platform = await openPlatform({
    config,
    logger,
    redactor: new Redactor(),
    urls: database.urls,
    secret: TEST_SECRET,
  });
  const handled: Handling[] = [];
  const tools = effects.map((effect) => watchedTool(effect, handled));
  const providers = tools.map((tool) => ({ provide: tool.name, useValue: tool }));
  @Module({ imports: [PlatformModule.with(platform), JobsModule, ToolQueueModule], providers })
  class ToolQueueOnlyModule {}
  const app = await NestFactory.createApplicationContext(ToolQueueOnlyModule, { logger: false, abortOnError: false });
  await app.get(Doorbell).start();
  const workspaceId = options.workspaceId ?? (await seedWorkspace(database)).workspaceId;
  const rows = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await platform.postgres.engine.query<Row>(sql, [...values])).rows;
  const first = async <Row extends object>(sql: string, values: readonly unknown[]): Promise<Row> => {
    const [row] = await rows<Row>(sql, values);
    if (row === undefined) throw new Error(`no row for ${sql}`);
    return row;
  };
  const callOf = ({ id }: SentCall) =>
    first<CallState>(
      `SELECT status, result, error, exec_epoch, exec_attempts, exec_until IS NOT NULL AS taken FROM tool_call WHERE id = $1`,
      [id],
    );
  return {
    app,
    platform,
    workspaceId,
    rows,
    callOf,
    handling: (count) => eventually(`${count} calls are handled`, () => handled[count - 1]),
    send: (...names) => sendCalls(app, workspaceId, names),
    jobOf: ({ jobId }) => first(`SELECT status, reason FROM job WHERE id = $1`, [jobId]),
    eventsOf: ({ jobId }) => rows(`SELECT type, body FROM job_event WHERE job_id = $1 ORDER BY seq`, [jobId]),
    reached: (sent, status) =>
      eventually(`call ${sent.id} is ${status}`, async () => {
        const call = await callOf(sent);
        return call.status === status ? call : undefined;
      }),
    expire: async ({ id }) => {
      await rows(`UPDATE tool_call SET exec_until = clock_timestamp() - interval '1 s' WHERE id = $1`, [id]);
    },
    close: async () => {
      await app.get(Doorbell).stop();
      await app.close();
      await platform.close();
    },
  };
}

function watchedTool(effect: ToolEffect, handled: Handling[]): Tool {
  return defineTool({
    name: effect,
    description: `does what the test says, ${effect}`,
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

async function sendCalls(
  app: INestApplicationContext,
  workspaceId: string,
  names: readonly string[],
): Promise<readonly SentCall[]> {
  const { jobId } = await app.get(JobStarter).start(requestOf(workspaceId));
  const [job] = await app.get(LeaseRepository).claim([{ workspaceId, jobId }], 'the test');
  if (job === undefined) throw new Error('the job is not to be had');
  const calls = names.map((name, i) => ({
    id: newId(),
    ordinal: i + 1,
    callId: `call_${i + 1}`,
    name,
    arguments: `{"n":${i + 1}}`,
    effect: effects.find((effect) => effect === name) ?? 'once',
  }));
  const log = app.get(EventLogRepository);
  const sent = calls.flatMap((call) => [
    newCallRow(job, 1, { ...call, status: 'running', executor: 'queue', result: null, error: null, ranMs: null }),
    queueNewCallRow(job, { ...call, round: 1 }),
  ]);
  const written = [
    ...(await log.commit([writeOf(job, 1, { rows: sent })])),
    ...(await log.commit([writeOf(job, 2, { move: { to: 'waiting', answered: job.answered } })])),
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
