import { readFileSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { McpTestServer } from '../harness/mcp-server.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { until } from '../harness/until.js';

const SERVER = `id name transport enabled problem listedAt settings { url headers { name value } command timeoutMs trusted effect }
  tools { name offeredAs status problem effect description inputSchema hash acceptedBy differences { path accepted current } }`;
const payload = `mcpServer { ${SERVER} } userErrors { code message field }`;
const REGISTER = `mutation($input: RegisterMcpServerInput!) { registerMcpServer(input: $input) { ${payload} } }`;
const UPDATE = `mutation($input: UpdateMcpServerInput!) { updateMcpServer(input: $input) { ${payload} } }`;
const ACCEPT = `mutation($input: AcceptMcpToolsInput!) { acceptMcpTools(input: $input) { ${payload} } }`;
const REVOKE = `mutation($input: RevokeMcpToolsInput!) { revokeMcpTools(input: $input) { ${payload} } }`;
const REFRESH = `mutation($input: McpServerRefInput!) { refreshMcpServer(input: $input) { ${payload} } }`;
const REMOVE = `mutation($input: McpServerRefInput!) { removeMcpServer(input: $input) { ${payload} } }`;
const LIST = `{ mcpServers(first: 10) { nodes { ${SERVER} } pageInfo { hasNextPage } } }`;
const JOB = `query($id: ID!) { job(id: $id) { status content
  toolCalls { name status effect arguments result error { message } } } }`;

interface Tool {
  readonly name: string;
  readonly status: string;
  readonly hash: string;
}
interface Server {
  readonly id: string;
  readonly problem: string | null;
  readonly tools: readonly Tool[];
}
interface Payload {
  readonly mcpServer: Server | null;
  readonly userErrors: readonly { readonly code: string; readonly field: string | null }[];
}

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let people: Record<Role, TestMember>;
let admin: GraphqlMember;
let server: McpTestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true' } });
});
beforeEach(async () => {
  people = await api.people.workspaceOf(`mcp-${performance.now()}`);
  admin = graphqlMember(api, people.admin.key);
  server = await McpTestServer.start();
});
afterEach(async () => {
  await server.close();
  model.assertDone();
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

/** The code block after `<!-- example: name -->`. */
function exampleOf(file: string, name: string): string {
  const found = new RegExp(`<!-- example: ${name} -->\\s+\`\`\`\\w+\\n([^]*?)\\n\`\`\``).exec(
    readFileSync(file, 'utf8'),
  );
  return found?.[1] ?? '';
}

async function change(who: GraphqlMember, text: string, input: object): Promise<Payload> {
  const [answer] = Object.values(await who.query(text, { input }));
  return answer as Payload; // every mutation above selects it
}

async function register(input: object = {}): Promise<Server> {
  const { mcpServer } = await change(admin, REGISTER, { name: 'test', http: { url: server.url }, ...input });
  return mcpServer as Server; // nothing is wrong with the input
}

const accepted = () => register({ accept: { all: true } });
const toolOf = ({ tools }: Server, name: string) => tools.find((tool) => tool.name === name);
const callOf = (name: string, args: object = {}, id = 'call_1') => ({ id, name, arguments: JSON.stringify(args) });

async function jobOf(who: GraphqlMember, id: string | null) {
  const { job } = await who.query(JOB, { id });
  return job as { readonly status: string; readonly content: string; readonly toolCalls: readonly object[] };
}

describe('MCP servers over GraphQL', () => {
  it('are registered, looked at, accepted, and offered to members', async () => {
    const made = await register();
    expect(made).toMatchObject({ name: 'test', transport: 'HTTP', enabled: true, problem: null });
    expect(toolOf(made, 'echo')).toMatchObject({
      offeredAs: 'test.echo',
      status: 'NEW',
      effect: 'PURE',
      acceptedBy: null,
    });
    const user = graphqlMember(api, people.member.key);
    expect(JSON.stringify(await user.query('{ tools { name } }'))).not.toContain('test.');
    const seen = made.tools.map(({ hash }) => hash);
    const { mcpServer } = await change(admin, ACCEPT, { serverId: made.id, names: ['echo', 'add'], seen });
    expect(toolOf(mcpServer as Server, 'add')).toMatchObject({
      status: 'ACCEPTED',
      acceptedBy: people.admin.principal.id,
    });
    const { tools } = await user.query('{ tools { name sort version effect } }');
    expect(tools).toContainEqual(
      { name: 'test.echo', sort: 'MCP', version: toolOf(made, 'echo')?.hash, effect: 'PURE' }, // prettier-ignore
    );
  });

  it('are set up as the documentation says', async () => {
    const { setWorkspaceSecret, registerMcpServer } = await admin.query(exampleOf('docs/mcp.md', 'register'), {
      url: server.url,
      token: 'canary-0123456789',
    });
    const { mcpServer } = registerMcpServer as Payload;
    expect([setWorkspaceSecret, registerMcpServer]).toMatchObject([{ userErrors: [] }, { userErrors: [] }]);
    expect(mcpServer?.problem).toBeNull();
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer canary-0123456789');
    const variables = { serverId: mcpServer?.id, names: ['send'], seen: mcpServer?.tools.map(({ hash }) => hash) };
    const { acceptMcpTools } = await admin.query(exampleOf('docs/mcp.md', 'accept'), variables);
    const offered = (acceptMcpTools as Payload).mcpServer?.tools.filter(({ status }) => status === 'ACCEPTED');
    expect(offered).toEqual([{ name: 'send', offeredAs: 'mail.send', status: 'ACCEPTED' }]);
  });

  it('are called by jobs, with progress in their log and the result in their thread', async () => {
    await accepted();
    const calls = [
      callOf('test.echo', { text: 'hi' }),
      callOf('test.add', { a: 1, b: 2 }, 'call_2'),
      callOf('test.steps', {}, 'call_3'),
    ];
    model.enqueue(toolCallReply(calls), textReply(['Done.']));
    const user = graphqlMember(api, people.member.key);
    const { jobId } = await user.start({ message: 'Go', tools: ['test.echo', 'test.add', 'test.steps'] });
    await until('the long one waits', () => server.stage.held === 1);
    const progress = await eventually('progress is in the log', async () => {
      const { rows } = await database.postgres.engine.query<{ body: object }>(
        `SELECT body FROM job_event WHERE job_id = $1 AND type = 'tool-progress' ORDER BY seq DESC LIMIT 1`,
        [jobId],
      );
      return rows[0]?.body;
    });
    expect(progress).toMatchObject({ callId: 'call_3', total: 3 });
    server.stage.release();
    await user.finished(jobId);
    expect(await jobOf(user, jobId)).toMatchObject({
      status: 'COMPLETED',
      content: 'Done.',
      toolCalls: [
        { name: 'test.echo', status: 'COMPLETED', effect: 'pure', result: 'hi' },
        { name: 'test.add', status: 'COMPLETED', effect: 'idempotent', result: '{"sum":3}' },
        { name: 'test.steps', status: 'COMPLETED', effect: 'once', result: 'done' },
      ],
    });
    expect(server.stage.calls.map(({ headers }) => headers['idempotency-key']).sort()).toEqual(
      [1, 2, 3].map((ordinal) => `${String(jobId)}:1:${ordinal}`),
    );
  });

  it('are told when a job is cancelled in the middle of a call', async () => {
    await accepted();
    model.enqueue(toolCallReply([callOf('test.hang')]));
    const user = graphqlMember(api, people.member.key);
    const { jobId } = await user.start({ message: 'Go', tools: ['test.hang'] });
    await until('it runs', () => server.stage.held === 1);
    await user.query('mutation($id: ID!) { cancelJob(input: { jobId: $id }) { job { id } userErrors { code } } }', {
      id: jobId,
    });
    await until('the server has heard of it', () => server.stage.cancelled.includes('hang'));
    await user.finished(jobId);
    expect(await jobOf(user, jobId)).toMatchObject({
      status: 'CANCELLED',
      toolCalls: [{ status: 'INTERRUPTED', effect: 'once' }],
    });
  });

  it('end at the time limit of their settings', async () => {
    await register({ accept: { all: true }, calls: { timeoutMs: 300, effect: 'PURE', trusted: true } });
    model.enqueue(toolCallReply([callOf('test.hang')]), textReply(['It hangs.']));
    const user = graphqlMember(api, people.member.key);
    const { jobId } = await user.run({ message: 'Go', tools: ['test.hang'] });
    expect(await jobOf(user, jobId)).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [{ status: 'TIMED_OUT', effect: 'pure' }],
    });
  });

  it('are refused within a running job when a definition changes under it', async () => {
    const { id } = await accepted();
    const send = (n: number) => toolCallReply([callOf('test.send', { to: `bob${n}` }, `call_${n}`)]);
    model.enqueue(send(1), toolCallReply([callOf('test.hang', {}, 'call_2')]), send(3), textReply(['I cannot.']));
    const user = graphqlMember(api, people.member.key);
    const { jobId } = await user.start({ message: 'Go', tools: ['test.send', 'test.hang'] });
    await until('it is between the two', () => server.stage.held === 1);
    server.describe('send', 'Sends a mail, and a copy to eve.', false);
    const { mcpServer } = await change(admin, REFRESH, { id });
    expect(toolOf(mcpServer as Server, 'send')).toMatchObject({
      status: 'CHANGED',
      differences: [
        { path: 'description', accepted: '"Sends a mail."', current: '"Sends a mail, and a copy to eve."' },
      ],
    });
    server.stage.release();
    await user.finished(jobId);
    const { toolCalls } = await jobOf(user, jobId);
    expect(toolCalls).toMatchObject([{ status: 'COMPLETED' }, { status: 'COMPLETED' }, { name: 'test.send' }]);
    expect(JSON.stringify(toolCalls[2])).not.toContain('COMPLETED');
    expect(server.stage.calls.filter(({ tool }) => tool === 'send')).toHaveLength(1);
    expect(model.requests.at(-1)?.body).toMatch(/has changed on the MCP server/);
  });

  it('are changed, switched off, taken back and removed', async () => {
    const { id } = await accepted();
    const headers = [{ name: 'X-Tenant', value: 'acme' }];
    const updated = await change(admin, UPDATE, {
      id,
      name: 'other',
      http: { url: server.url, headers },
      enabled: false,
    });
    expect(updated.mcpServer).toMatchObject({ name: 'other', enabled: false, settings: { headers } });
    expect(toolOf(updated.mcpServer as Server, 'echo')).toMatchObject({ status: 'ACCEPTED', offeredAs: 'other.echo' });
    const taken = await change(admin, REVOKE, { serverId: id, names: ['echo'] });
    expect(toolOf(taken.mcpServer as Server, 'echo')).toMatchObject({ status: 'NEW' });
    expect((await change(admin, REMOVE, { id })).mcpServer).toMatchObject({ id, name: 'other' });
    expect((await change(admin, REMOVE, { id })).userErrors).toMatchObject([{ code: 'not_found' }]);
    expect(await admin.query(LIST)).toMatchObject({ mcpServers: { nodes: [] } });
  });

  it('say what is wrong with an input', async () => {
    const { id } = await register();
    const http = { url: server.url };
    const cases: [string, object, string, string | null][] = [
      [REGISTER, { name: 'both', http, stdio: { command: 'x' } }, 'bad_request', 'http'],
      [REGISTER, { name: 'none' }, 'bad_request', 'http'],
      [REGISTER, { name: 'test', http }, 'conflict', 'name'],
      [REGISTER, { name: 'process', stdio: { command: 'touch', args: ['/tmp/x'] } }, 'mcp_stdio_disabled', 'stdio'],
      [REGISTER, { name: 'key', http: { ...http, headers: [{ name: 'Authorization', value: 'x' }] } }, 'bad_request', 'headers'],
      [UPDATE, { id, stdio: { command: 'x' } }, 'bad_request', 'stdio'],
      [UPDATE, { id, http: { url: 'ftp://x' } }, 'bad_request', 'url'],
      [ACCEPT, { serverId: id, names: ['nope'] }, 'not_found', 'names'],
      [ACCEPT, { serverId: id, all: true, seen: [] }, 'conflict', 'seen'],
    ]; // prettier-ignore
    for (const [text, input, code, field] of cases) {
      expect(await change(admin, text, input)).toMatchObject({ mcpServer: null, userErrors: [{ code, field }] });
    }
  });

  it('show settings to those who manage them only, and change for nobody else', async () => {
    const { id } = await accepted();
    for (const { key } of [people.member, people.viewer]) {
      const { mcpServers } = await graphqlMember(api, key).query(LIST);
      const [found] = (mcpServers as { nodes: Server[] }).nodes;
      expect(found).toMatchObject({ id, settings: null });
      expect(JSON.stringify(found)).not.toContain(server.url);
      for (const [text, input] of [
        [REFRESH, { id }],
        [REMOVE, { id }],
        [ACCEPT, { serverId: id, all: true }],
        [REGISTER, { name: 'mine', http: { url: server.url } }],
      ] as const) {
        const { errors } = await ask(api, text, { key, variables: { input } });
        expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
      }
    }
  });

  it('are nothing to another workspace', async () => {
    const { id } = await accepted();
    const strangers = await api.people.workspaceOf(`mcp-others-${performance.now()}`);
    const stranger = graphqlMember(api, strangers.owner.key);
    expect(await stranger.query(LIST)).toMatchObject({ mcpServers: { nodes: [] } });
    const missing = '00000000-0000-7000-8000-000000000000';
    for (const [text, input] of [
      [REFRESH, (of: string) => ({ id: of })],
      [REMOVE, (of: string) => ({ id: of })],
      [UPDATE, (of: string) => ({ id: of, name: 'mine' })],
      [ACCEPT, (of: string) => ({ serverId: of, all: true })],
      [REVOKE, (of: string) => ({ serverId: of, names: ['echo'] })],
    ] as const) {
      expect(await change(stranger, text, input(id))).toEqual(await change(stranger, text, input(missing)));
    }
    expect(JSON.stringify(await stranger.query('{ tools { name } }'))).not.toContain('test.');
    expect(toolOf((await change(admin, REFRESH, { id })).mcpServer as Server, 'echo')).toMatchObject({
      status: 'ACCEPTED',
    });
  });
});
