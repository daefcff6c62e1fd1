import type { INestApplicationContext } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobQueue, JobsModule, Worker } from '#jobs';
import { Config, createLogger, newId, openPlatform, type Platform, PlatformModule, Redactor } from '#platform';
import { SchedulesModule } from '#schedules';
import { WorkflowsModule } from '#workflows';

import type { TestDatabase } from './database.js';
import { failAtOnce } from './fail-at-once.js';
import { openTestingModule } from './testing-module.js';

const secret = 'the secret of the test databases';

/** A worker and the services of an API process in this process, over a test database: everything but HTTP. */
export interface TestEngine {
  readonly platform: Platform;
  readonly app: INestApplicationContext;
  /** Gives every lease back and closes what was opened. */
  close(): Promise<void>;
}

/** `env` replaces settings by the names of their variables. `takesJobs` false: the process only serves. */
export async function startTestEngine(
  database: TestDatabase,
  env: Readonly<Record<string, string>>,
  takesJobs = true,
): Promise<TestEngine> {
  const config = Config.from({
    ...{ NODE_ENV: 'test', MODEL_NAME: 'scripted', LOG_LEVEL: 'warn' },
    ...failAtOnce,
    ...env,
  });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const platform = await openPlatform({ config, logger, redactor: new Redactor(), urls: database.urls, secret });
  const app = await openTestingModule({
    imports: [PlatformModule.with(platform), JobsModule, ChatModule, WorkflowsModule, SchedulesModule],
  });
  const worker = app.get(Worker);
  const jobQueue = app.get(JobQueue);
  await jobQueue.start();
  if (takesJobs) worker.start();
  return {
    platform,
    app,
    close: async () => {
      await worker.stop(100);
      await app.close();
      await platform.close();
    },
  };
}

/** A workspace with one owner, created without the API. Its limits are high. */
export async function seedWorkspace(database: TestDatabase): Promise<{ workspaceId: string; userId: string }> {
  const workspaceId = newId();
  const userId = newId();
  await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
    await client.query('INSERT INTO workspace (id, name, max_jobs, max_jobs_per_user) VALUES ($1, $2, 10000, 10000)', [
      workspaceId,
      'Test',
    ]);
  });
  return { workspaceId, userId };
}
