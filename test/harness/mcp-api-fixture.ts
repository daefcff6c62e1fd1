import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';

import type { Role } from '#auth';

import { startTestApi, type TestApi, type TestMember } from './api.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { type GraphqlMember, graphqlMember } from './graphql-member.js';
import { McpTestServer } from './mcp-server.js';
import { ScriptedModel } from './scripted-model.js';

const SERVER = `id name transport enabled problem listedAt settings { url headers { name value } command timeoutMs trusted effect }
  tools { name offeredAs status problem effect description inputSchema hash acceptedBy differences { path accepted current } }`;
const payload = `mcpServer { ${SERVER} } userErrors { code message field }`;

/** The operations on MCP servers, each selecting everything. */
export const MCP = {
  REGISTER: `mutation($input: RegisterMcpServerInput!) { registerMcpServer(input: $input) { ${payload} } }`,
  UPDATE: `mutation($input: UpdateMcpServerInput!) { updateMcpServer(input: $input) { ${payload} } }`,
  ACCEPT: `mutation($input: AcceptMcpToolsInput!) { acceptMcpTools(input: $input) { ${payload} } }`,
  REVOKE: `mutation($input: RevokeMcpToolsInput!) { revokeMcpTools(input: $input) { ${payload} } }`,
  REFRESH: `mutation($input: McpServerRefInput!) { refreshMcpServer(input: $input) { ${payload} } }`,
  REMOVE: `mutation($input: McpServerRefInput!) { removeMcpServer(input: $input) { ${payload} } }`,
  LIST: `{ mcpServers(first: 10) { nodes { ${SERVER} } pageInfo { hasNextPage } } }`,
} as const;

/** A tool as the operations give it. */
export interface McpToolReply {
  readonly name: string;
  readonly status: string;
  readonly hash: string;
}

/** A server as the operations give it. */
export interface McpServerReply {
  readonly id: string;
  readonly problem: string | null;
  readonly tools: readonly McpToolReply[];
}

/** What a mutation gives. */
export interface McpPayload {
  readonly mcpServer: McpServerReply | null;
  readonly userErrors: readonly { readonly code: string; readonly field: string | null }[];
}

/** Runs one of the mutations. */
export async function changeMcp(who: GraphqlMember, text: string, input: object): Promise<McpPayload> {
  const [answer] = Object.values(await who.query(text, { input }));
  return answer as McpPayload; // every mutation above selects it
}

/** The tool of that name. */
export function toolOf({ tools }: McpServerReply, name: string): McpToolReply | undefined {
  return tools.find((tool) => tool.name === name);
}

interface Opened {
  readonly database: TestDatabase;
  readonly model: ScriptedModel;
  readonly api: TestApi;
}
interface Present {
  readonly people: Record<Role, TestMember>;
  readonly server: McpTestServer;
}

/** An API that runs jobs, with a new workspace and a new MCP server for each test. `settings`: more environment variables. */
export class McpApiFixture {
  private opened: Opened | undefined;
  private present: Present | undefined;

  constructor(settings: Readonly<Record<string, string>> = {}) {
    beforeAll(async () => {
      const database = await createTestDatabase();
      const model = await ScriptedModel.start();
      const env = { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true', ...settings };
      this.opened = { database, model, api: await startTestApi(database, { env }) };
    });
    beforeEach(async () => {
      const people = await this.api.people.workspaceOf(`mcp-${performance.now()}`);
      this.present = { people, server: await McpTestServer.start() };
    });
    afterEach(async () => {
      await this.server.close();
      this.model.assertDone();
    });
    afterAll(async () => {
      await this.api.close();
      await this.model.close();
      await this.database.close();
    });
  }

  get database(): TestDatabase {
    return known(this.opened).database;
  }

  get model(): ScriptedModel {
    return known(this.opened).model;
  }

  get api(): TestApi {
    return known(this.opened).api;
  }

  get people(): Record<Role, TestMember> {
    return known(this.present).people;
  }

  get server(): McpTestServer {
    return known(this.present).server;
  }

  get admin(): GraphqlMember {
    return graphqlMember(this.api, this.people.admin.key);
  }

  /** Sets up the server of this test, called `test`. */
  async register(input: object = {}): Promise<McpServerReply> {
    const http = { url: this.server.url };
    const { mcpServer } = await changeMcp(this.admin, MCP.REGISTER, { name: 'test', http, ...input });
    return known(mcpServer);
  }

  /** The same, with all of its tools accepted. */
  accepted(): Promise<McpServerReply> {
    return this.register({ accept: { all: true } });
  }
}

function known<T>(value: T | undefined | null): T {
  if (value === undefined || value === null)
    throw new Error('It is made before each test, and there is nothing wrong with it.');
  return value;
}
