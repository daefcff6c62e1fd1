import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import type { McpServer, NewMcpServer } from '#integrations';
import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from './database.js';
import { openTestIdentities, type TestIdentities } from './identities.js';
import { openTestMcp, type TestMcp } from './mcp.js';
import { McpTestServer, type McpTestServerOptions } from './mcp-server.js';

interface Opened {
  readonly database: TestDatabase;
  readonly identities: TestIdentities;
  readonly mcp: TestMcp;
}

/** A database with the MCP servers of two new workspaces for each test, and servers that are closed after it. */
export class McpFixture {
  private opened: Opened | undefined;
  private worlds: readonly Record<Role, MemberPrincipal>[] = [];
  private readonly running: McpTestServer[] = [];

  constructor(env: Readonly<Record<string, string>> = {}) {
    beforeAll(async () => {
      const database = await createTestDatabase();
      this.opened = { database, identities: openTestIdentities(database), mcp: await openTestMcp(database, env) };
    });
    beforeEach(async () => {
      const { identities } = this.get();
      this.worlds = [await identities.workspaceOf(newId()), await identities.workspaceOf(newId())];
    });
    afterEach(async () => {
      for (const server of this.running.splice(0)) await server.close();
    });
    afterAll(async () => {
      const { database, identities, mcp } = this.get();
      await mcp.close();
      identities.auth.close();
      await database.close();
    });
  }

  get database(): TestDatabase {
    return this.get().database;
  }

  get mcp(): TestMcp {
    return this.get().mcp;
  }

  get here(): Record<Role, MemberPrincipal> {
    return this.world(0);
  }

  get elsewhere(): Record<Role, MemberPrincipal> {
    return this.world(1);
  }

  get workspaceId(): string {
    return this.here.owner.workspaceId;
  }

  async start(options: McpTestServerOptions = {}): Promise<McpTestServer> {
    const server = await McpTestServer.start(options);
    this.running.push(server);
    return server;
  }

  /** A new server, all of its tools accepted. */
  async accepted(options: McpTestServerOptions = {}): Promise<{ readonly server: McpTestServer; readonly id: string }> {
    const server = await this.start(options);
    const { id } = await this.mcp.servers.register(this.here.admin, serverAt(server.url, { accept: { all: true } }));
    return { server, id };
  }

  /** The same services as in another process; the caller closes them. */
  another(): Promise<TestMcp> {
    return openTestMcp(this.get().database);
  }

  /** Runs one statement as the api's login, inside the workspace. */
  sql(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.get().database.postgres.withWorkspaceSql(this.workspaceId, async (client) => {
      const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
      return rows;
    });
  }

  private get(): Opened {
    if (this.opened === undefined) throw new Error('The database opens before the first test.');
    return this.opened;
  }

  private world(index: number): Record<Role, MemberPrincipal> {
    const world = this.worlds[index];
    if (world === undefined) throw new Error('Workspaces are made before each test.');
    return world;
  }
}

/** The input for a server called `test` at a URL. */
export function serverAt(url: string, changes: Partial<NewMcpServer> = {}): NewMcpServer {
  return { name: 'test', settings: { transport: 'http', url }, ...changes };
}

/** The status of each tool, by name. */
export function statusesOf({ tools }: McpServer): Readonly<Record<string, string>> {
  return Object.fromEntries(tools.map(({ name, status }) => [name, status]));
}
