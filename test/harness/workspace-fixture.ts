import { afterAll, beforeAll, beforeEach } from '@jest/globals';

import { createLogger, MemoryBus, newId, type Scope } from '#platform';

import { createTestDatabase, type TestDatabase } from './database.js';

/** A database and a bus for one spec file, with a new empty workspace for each test. */
export class WorkspaceFixture {
  readonly bus = new MemoryBus({ logger: createLogger({ level: 'silent' }) });
  workspaceId = '';
  private opened: TestDatabase | undefined;

  constructor() {
    beforeAll(async () => {
      this.opened = await createTestDatabase();
      await this.bus.start();
    });
    beforeEach(async () => {
      this.workspaceId = newId();
      await this.sql(`INSERT INTO workspace (id, name) VALUES ($1, 'Test')`, [this.workspaceId]);
    });
    afterAll(async () => {
      await this.bus.stop();
      await this.database.close();
    });
  }

  get database(): TestDatabase {
    if (this.opened === undefined) throw new Error('The database opens before the first test.');
    return this.opened;
  }

  /** Runs one statement as the api's login, inside the workspace. */
  async sql(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.database.postgres.withWorkspaceSql(this.workspaceId, async (client) => {
      const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
      return rows;
    });
  }

  /** The scope of a member who may read everything; with `canRead: false`, nothing. */
  scope(workspaceId = this.workspaceId, canRead = true): Scope {
    const where = () => (canRead ? { workspaceId } : { id: { in: [] } });
    return { workspaceId, principal: 'user:test', userId: null, where };
  }
}
