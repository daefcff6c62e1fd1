import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { type MemberPrincipal, openAuth } from '#auth';
import { ChatModule, ChatService } from '#chat';
import { EventFeed, JobQueue, JobsModule, Worker } from '#jobs';
import { Config, createLogger, openPlatform, type Platform, PlatformModule, Redactor } from '#platform';
import { WorkflowsModule } from '#workflows';

import type { JobClient, JobTimes } from '../measure/load.js';
import { benchChat } from './bench-chat.js';
import { BENCH_SECRET, type BenchPostgres } from './bench-postgres.js';
import { benchSettings } from './bench-settings.js';
import { seedBenchWorkspace } from './bench-workspace.js';

/** Starts a job and gives its id. */
export type JobStart = (app: INestApplicationContext, principal: MemberPrincipal) => Promise<string>;

const startChat: JobStart = async (app, principal) => (await app.get(ChatService).start(principal, benchChat)).jobId;

/** Jobs without HTTP: start, worker and viewer in this process, over the memory bus. Shows what HTTP and GraphQL add. */
export class EngineClient implements JobClient {
  private constructor(
    private readonly platform: Platform,
    private readonly app: INestApplicationContext,
    private readonly principal: MemberPrincipal,
    private start: JobStart,
  ) {}

  static async open(postgres: BenchPostgres, modelUrl: string): Promise<EngineClient> {
    const config = Config.from({ ...benchSettings(modelUrl), ROLE: 'all' });
    const logger = createLogger({ level: config.values.LOG_LEVEL });
    const { urls } = postgres;
    const platform = await openPlatform({ config, logger, redactor: new Redactor(), urls, secret: BENCH_SECRET });
    const auth = openAuth({
      ...platform,
      secret: BENCH_SECRET,
      fetchKeys: () => Promise.reject(new Error('no key set in a bench')),
    });
    const { principal } = await seedBenchWorkspace(postgres, auth);
    @Module({ imports: [PlatformModule.with(platform), JobsModule, ChatModule, WorkflowsModule] })
    class EngineModule {}
    const app = await NestFactory.createApplicationContext(EngineModule, { logger: false, abortOnError: false });
    await app.get(JobQueue).start();
    app.get(Worker).start();
    return new EngineClient(platform, app, principal, startChat);
  }

  /** Other jobs from now on: made by what `prepare` gives, once it has prepared them. */
  async take(prepare: (app: INestApplicationContext, principal: MemberPrincipal) => Promise<JobStart>): Promise<void> {
    this.start = await prepare(this.app, this.principal);
  }

  async run(): Promise<JobTimes> {
    const startedAt = performance.now();
    const { workspaceId } = this.principal;
    const jobId = await this.start(this.app, this.principal);
    let firstDeltaMs = 0;
    const signal = new AbortController().signal;
    for await (const item of this.app.get(EventFeed).follow({ workspaceId, jobId, after: 0, signal })) {
      if (item.type !== 'events') continue;
      if (firstDeltaMs === 0 && item.events.some(({ type }) => type === 'text-delta')) {
        firstDeltaMs = performance.now() - startedAt;
      }
      const last = item.events.at(-1);
      if (last?.type === 'job-finished' && last.body.status !== 'completed') throw new Error(JSON.stringify(last.body));
    }
    return { firstDeltaMs, totalMs: performance.now() - startedAt };
  }

  async close(): Promise<void> {
    await this.app.get(Worker).stop(1_000);
    await this.app.close();
    await this.platform.close();
  }
}
