import { type CliServer, startCliServer } from './cli-server.js';
import { createTestDatabase, TEST_SECRET } from './database.js';

/**
 * `startCliServer` on a database of the test run, with the defaults of an embedded one: it creates no cluster and runs no migrations.
 */
export async function startTestCliServer(env: Readonly<Record<string, string>> = {}): Promise<CliServer> {
  const database = await createTestDatabase();
  const given = { DATABASE_URL: database.urls.owner, NIGHTSHIFT_SECRET: TEST_SECRET, TRIGGERS_ALLOW_UNSIGNED: 'true' };
  const server = await startCliServer({ ...given, ...env });
  return {
    ...server,
    close: async () => {
      await server.close();
      await database.close();
    },
  };
}
