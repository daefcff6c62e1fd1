import { Config, createLogger, Metrics, Queues } from '#platform';

import type { TestDatabase } from './database.js';

interface Message {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly interruptId: string;
}

/** Sends the message of each open interrupt, for a test that has moved its instants by SQL: else only the sweep of a minute finds it. */
export async function announceDue({ postgres, prisma }: TestDatabase): Promise<void> {
  const config = Config.from({ NODE_ENV: 'test', ROLE: 'api' });
  const logger = createLogger({ level: 'silent' });
  const queues = new Queues({ config, logger, metrics: new Metrics(), postgres });
  try {
    await prisma.asWorker(async (client) => {
      const open = await client.$queryRaw<Message[]>`
        SELECT workspace_id AS "workspaceId", job_id AS "jobId", id AS "interruptId" FROM interrupt WHERE status = 'open'`;
      await queues.send(
        client,
        'interrupt.due',
        open.map((data) => ({ data })),
      );
    });
  } finally {
    await queues.stop();
  }
}
