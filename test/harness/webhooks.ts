import type { INestApplicationContext } from '@nestjs/common';

import { JobsModule } from '#jobs';
import { Config, createLogger, openPlatform, type Platform, PlatformModule, Redactor } from '#platform';
import { DeliveryWorker, TriggersModule } from '#triggers';

import { TEST_SECRET, type TestDatabase } from './database.js';
import { openTestingModule } from './testing-module.js';
import { WebhookReceiver } from './webhook-receiver.js';

/** The triggers library over a test database, allowed to send to a receiver on loopback. */
export interface TestWebhooks {
  readonly app: INestApplicationContext;
  readonly platform: Platform;
  readonly receiver: WebhookReceiver;
  /** Rows of `sql` as the workers' role. */
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Stops the worker, forgets what arrived, and deletes the queue messages. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** `env` replaces settings by the names of their variables. */
export async function openTestWebhooks(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<TestWebhooks> {
  const receiver = await WebhookReceiver.listen();
  const settings = { NODE_ENV: 'test', LOG_LEVEL: 'silent', ROLE: 'worker', BUS: 'memory', ...receiver.env, ...env };
  const config = Config.from(settings);
  const logger = createLogger({ level: 'silent' });
  const init = { config, logger, redactor: new Redactor(), urls: database.urls, secret: TEST_SECRET };
  const platform = await openPlatform(init);
  const app = await openTestingModule({ imports: [PlatformModule.with(platform), JobsModule, TriggersModule] });
  await platform.queues.start();
  const rows = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await database.postgres.workerPool.query(sql, [...values])).rows as Row[]; // the test knows its columns
  return {
    ...{ app, platform, receiver, rows },
    reset: async () => {
      await app.get(DeliveryWorker).stop();
      receiver.answer = (response) => response.writeHead(200).end('ok');
      receiver.received.length = 0;
      await rows('DELETE FROM pgboss.job');
    },
    close: async () => {
      await app.close();
      await platform.close();
      await receiver.close();
    },
  };
}
