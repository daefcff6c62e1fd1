import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { type HttpTarget, startHttpTarget, type TargetHandler } from '../harness/http-target.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

const canary = 'canary-0123456789';
const fields = 'tool { id name enabled version definition } userErrors { code message field }';
const register = `mutation($definition: JSON!) { registerTool(input: { definition: $definition }) { ${fields} } }`;

let database: TestDatabase;
let model: ScriptedModel;
let target: HttpTarget;
let handler: TargetHandler;
let api: TestApi;
let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
let strangers: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
let admin: GraphqlMember;
let definition: object;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  target = await startHttpTarget((request, response) => {
    handler(request, response);
  });
  const env = { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true', TAVILY_URL: target.url };
  api = await startTestApi(database, { env });
});
beforeEach(async () => {
  people = await api.people.workspaceOf(`tools-${performance.now()}`);
  strangers = await api.people.workspaceOf(`others-${performance.now()}`);
  admin = graphqlMember(api, people.admin.key);
  handler = (_, response) => response.setHeader('content-type', 'application/json').end('{"user": {"name": "Ada"}}');
  definition = {
    name: 'get_user',
    description: 'Finds a user by id.',
    parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    method: 'GET',
    url: `${target.url}/users/{id}`,
    headers: [{ name: 'Authorization', value: 'Bearer {{secret:TOKEN}}' }],
    result: '$.user.name',
  };
});
afterAll(async () => {
  await api.close();
  await target.close();
  await model.close();
  await database.close();
});

const setSecret = (who: GraphqlMember) =>
  who.query(
    `mutation($value: String!) { setWorkspaceSecret(input: { name: "TOKEN", value: $value }) { secret { name setBy } userErrors { code } } }`,
    { value: canary },
  );
async function made(who = admin): Promise<{ readonly id: string }> {
  const { registerTool } = await who.query(register, { definition });
  return (registerTool as { tool: { id: string } }).tool; // the query selects this field
}

describe('tavily_search', () => {
  it('searches with the secret of the workspace, and names the secret that is not set', async () => {
    const row = { title: 'Tokyo', url: 'https://weather.test/tokyo', content: 'Sunny', score: 0.5 };
    handler = (_, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ results: [row] }));
    const call = { id: 'call_1', name: 'tavily_search', arguments: '{"query":"weather in Tokyo"}' };
    const search = async () => {
      model.enqueue(toolCallReply([call]), textReply(['Sunny.']));
      const { jobId } = await graphqlMember(api, people.member.key).run({ message: 'Tokyo?', tools: [call.name] });
      const { job } = await admin.query('query($id: ID!) { job(id: $id) { toolCalls { result error { message } } } }', {
        id: jobId,
      });
      return (job as { toolCalls: readonly unknown[] }).toolCalls[0];
    };
    expect(JSON.stringify(await search())).toContain('TAVILY_API_KEY');
    await admin.query(
      `mutation($value: String!) { setWorkspaceSecret(input: { name: "TAVILY_API_KEY", value: $value }) { userErrors { code } } }`,
      { value: canary },
    );
    const seen = target.requests.length;
    const { result } = (await search()) as { result: string };
    const shown = { title: 'Tokyo', url: row.url, snippet: 'Sunny', score: 0.5 };
    expect(JSON.parse(result)).toEqual({ query: 'weather in Tokyo', results: [shown] });
    expect(target.requests.slice(seen)).toMatchObject([
      { path: '/search', headers: { authorization: `Bearer ${canary}` } },
    ]);
  });
});

describe('the GraphQL API of HTTP tools', () => {
  it('runs a tool in jobs of members with the secrets of the workspace', async () => {
    await setSecret(admin);
    await made();
    const call = { id: 'call_1', name: 'get_user', arguments: '{"id":"../7"}' };
    model.enqueue(
      toolCallReply([
        { ...call, arguments: '{"id":"7 8"}' },
        { ...call, id: 'call_2' },
      ]),
      textReply(['Ada.']),
    );
    const user = graphqlMember(api, people.member.key);
    const { tools } = await user.query('{ tools { name sort version parameters } }');
    expect(tools).toContainEqual(expect.objectContaining({ name: 'get_user', sort: 'HTTP' }));
    const { jobId } = await user.run({ message: 'Who is 7 8?', tools: ['get_user'] });
    const { job } = await user.query(
      'query($id: ID!) { job(id: $id) { status content toolCalls { name status effect result error { message } } } }',
      { id: jobId },
    );
    expect(job).toMatchObject({
      status: 'COMPLETED',
      content: 'Ada.',
      toolCalls: [
        { name: 'get_user', status: 'COMPLETED', effect: 'once', result: 'Ada' },
        { name: 'get_user', status: 'ERROR', error: { message: expect.stringContaining('"id" must not contain') } },
      ],
    });
    expect(target.requests.at(-1)).toMatchObject({
      path: '/users/7%208',
      headers: { authorization: `Bearer ${canary}`, 'idempotency-key': `${String(jobId)}:1:1`, 'x-job-epoch': '1' },
    });
  });

  it('creates, updates and deletes a tool', async () => {
    const { registerTool } = await admin.query(register, { definition });
    expect(registerTool).toMatchObject({
      tool: { name: 'get_user', enabled: true, version: 1, definition: { ...definition, effect: 'once' } },
      userErrors: [],
    });
    const { id } = (registerTool as { tool: { id: string } }).tool; // the query selects this field
    const variables = { id, definition: { ...definition, effect: 'pure' } };
    const update = `mutation($id: ID!, $definition: JSON!) { updateTool(input: { id: $id, definition: $definition }) { ${fields} } }`;
    expect((await admin.query(update, variables))['updateTool']).toMatchObject({ tool: { version: 2 } });
    const disable = `mutation($id: ID!) { setToolEnabled(input: { id: $id, enabled: false }) { ${fields} } }`;
    expect((await admin.query(disable, { id }))['setToolEnabled']).toMatchObject({ tool: { enabled: false } });
    const read = `query($id: ID!) { workspaceTool(id: $id) { name versions { version createdBy definition } }
      workspaceTools(first: 1) { nodes { id } edges { cursor } pageInfo { hasNextPage } } tools { name } }`;
    const found = await admin.query(read, { id });
    expect(found).toMatchObject({
      workspaceTool: { versions: [{ version: 2, createdBy: people.admin.principal.id }, { version: 1 }] },
      workspaceTools: { nodes: [{ id }], pageInfo: { hasNextPage: false } },
    });
    expect(JSON.stringify(found['tools'])).not.toContain('get_user');
    const remove = `mutation($id: ID!) { removeTool(input: { id: $id }) { ${fields} } }`;
    expect((await admin.query(remove, { id }))['removeTool']).toMatchObject({ tool: { name: 'get_user' } });
    expect(await admin.query(read, { id })).toMatchObject({ workspaceTool: null, workspaceTools: { nodes: [] } });
    expect((await admin.query(remove, { id }))['removeTool']).toMatchObject({
      tool: null,
      userErrors: [{ code: 'not_found' }],
    });
  });

  it('rejects a definition with its faults', async () => {
    const wrong = { ...definition, url: 'https://{host}/' };
    expect((await admin.query(register, { definition: wrong }))['registerTool']).toMatchObject({
      tool: null,
      userErrors: [{ code: 'bad_request', field: 'definition.url' }],
    });
  });

  it('tests a tool by a trial call', async () => {
    await setSecret(admin);
    handler = (request, response) => response.end(JSON.stringify({ user: { name: request.headers['authorization'] } }));
    const text = `mutation($input: TestToolInput!) { testTool(input: $input) {
      trial { status durationMs result error excerpt } userErrors { code field } } }`;
    const input = { definition, arguments: { id: '1' } };
    const { testTool } = await admin.query(text, { input });
    expect(testTool).toMatchObject({
      trial: { status: 200, result: 'Bearer [redacted]', error: null },
      userErrors: [],
    });
    expect(JSON.stringify(testTool)).not.toContain('canary');
    const { id } = await made();
    handler = (_, response) => response.writeHead(404).end('unknown');
    expect((await admin.query(text, { input: { id, arguments: { id: '1' } } }))['testTool']).toMatchObject({
      trial: { status: 404, result: null, error: 'HTTP 404 Not Found: unknown', excerpt: 'unknown' },
    });
    for (const [wrong, field] of [
      [{}, 'id'],
      [{ id, definition }, 'definition'],
      [{ id, arguments: {} }, 'arguments'],
    ]) {
      expect((await admin.query(text, { input: wrong }))['testTool']).toMatchObject({
        trial: null,
        userErrors: [{ code: 'bad_request', field }],
      });
    }
  });

  it('calls only the hosts on the list of the workspace', async () => {
    await setSecret(admin);
    const set =
      'mutation($hosts: [String!]!) { setOutboundHosts(input: { hosts: $hosts }) { hosts userErrors { code field } } }';
    expect((await admin.query(set, { hosts: ['API.Example.com'] }))['setOutboundHosts']).toEqual({
      hosts: ['api.example.com'],
      userErrors: [],
    });
    expect(await admin.query('{ workspace { outboundHosts } }')).toEqual({
      workspace: { outboundHosts: ['api.example.com'] },
    });
    const { testTool } = await admin.query(
      'mutation($input: TestToolInput!) { testTool(input: $input) { trial { status error } } }',
      { input: { definition, arguments: { id: '1' } } },
    );
    expect(testTool).toMatchObject({ trial: { status: null, error: expect.stringContaining('not on the list') } });
    expect((await admin.query(set, { hosts: ['https://x'] }))['setOutboundHosts']).toMatchObject({
      userErrors: [{ code: 'bad_request', field: 'hosts' }],
    });
  });
});

describe('large result of an HTTP tool', () => {
  it.each(['pure', 'once'])('shows its beginning for a %s tool, and the model reads further pages', async (effect) => {
    const whole = '0123456789'.repeat(30_000);
    handler = (_, response) => response.setHeader('content-type', 'text/plain').end(whole);
    await admin.query(register, { definition: { ...definition, effect, headers: [], result: undefined } });
    const read = { id: 'call_2', name: 'read_tool_output', arguments: '{"call_id":"call_1","offset":299990}' };
    model.enqueue(
      toolCallReply([{ id: 'call_1', name: 'get_user', arguments: '{"id":"1"}' }]),
      toolCallReply([read]),
      textReply(['Done.']),
    );
    await graphqlMember(api, people.member.key).run({ message: 'Read it.', tools: ['get_user', 'read_tool_output'] });
    const messages = (model.requests.at(-1)?.json['messages'] ?? []) as { role: string; content: string }[]; // as sent by us
    const [preview = '', page] = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(preview).toMatch(
      /^0123456789[^]*\n\[read on with read_tool_output \{"call_id":"call_1","offset":\d+\}\]\n\[truncated, 300000 bytes in total\]$/,
    );
    expect(page).toBe('0123456789\n[characters 299990 to 300000 of 300000, the end]');
  });
});

describe('registerTool and validateTool:', () => {
  const save = `mutation($definition: JSON!) { registerTool(input: { definition: $definition, upsert: true }) { ${fields} } }`;

  it('registerTool with upsert creates a tool once, replaces its definition by name, and adds no version for the same definition', async () => {
    const { registerTool: created } = await admin.query(save, { definition });
    expect(created).toMatchObject({ tool: { name: 'get_user', version: 1 }, userErrors: [] });
    expect((await admin.query(save, { definition }))['registerTool']).toEqual(created);
    const { registerTool: changed } = await admin.query(save, { definition: { ...definition, effect: 'pure' } });
    const { id } = (created as { tool: { id: string } }).tool;
    expect(changed).toMatchObject({ tool: { id, version: 2, definition: { effect: 'pure' } } });
    expect((await admin.query(register, { definition }))['registerTool']).toMatchObject({
      userErrors: [{ code: 'conflict' }],
    });
  });

  it('validateTool returns the definition with its defaults, or its faults, and saves nothing', async () => {
    const validate =
      'query($definition: JSON!) { validateTool(definition: $definition) { definition userErrors { code field } } }';
    expect((await admin.query(validate, { definition }))['validateTool']).toMatchObject({
      definition: { effect: 'once', allowEdit: true },
      userErrors: [],
    });
    expect((await admin.query(validate, { definition: { ...definition, url: 'ftp://x' } }))['validateTool']).toEqual({
      definition: null,
      userErrors: [{ code: 'bad_request', field: 'definition.url' }],
    });
    const { workspaceTools } = await admin.query('{ workspaceTools { nodes { name } } }');
    expect(workspaceTools).toEqual({ nodes: [] });
    const member = graphqlMember(api, people.member.key);
    expect((await member.query(validate, { definition }))['validateTool']).toMatchObject({ definition: null });
  });
});

describe('validateApprovalPolicy', () => {
  it('returns a policy with its defaults, or its faults, saves nothing, and requires the right to read the policy', async () => {
    const text =
      'query($policy: JSON!) { validateApprovalPolicy(policy: $policy) { policy userErrors { code field } } }';
    const validate = async (policy: object, key = people.admin.key) =>
      (await graphqlMember(api, key).query(text, { policy }))['validateApprovalPolicy'];
    expect(await validate({ rules: [{ match: '*', action: 'block' }] })).toMatchObject({
      policy: { default: 'auto_approve', rules: [{ locked: false }] },
      userErrors: [],
    });
    const fault = { code: 'bad_request', field: 'rules.0.match' };
    expect(await validate({ rules: [{}] })).toEqual({ policy: null, userErrors: [fault] });
    expect(await validate({}, people.member.key)).toMatchObject({ policy: null, userErrors: [{ code: 'not_found' }] });
    expect(await admin.query('{ approvalPolicy { version } }')).toEqual({ approvalPolicy: { version: 0 } });
  });
});

describe('workspace secrets over GraphQL', () => {
  it('set, list without values, and remove secrets', async () => {
    expect((await setSecret(admin))['setWorkspaceSecret']).toEqual({
      secret: { name: 'TOKEN', setBy: people.admin.principal.id },
      userErrors: [],
    });
    const list = '{ workspaceSecrets { name setBy createdAt updatedAt } }';
    expect((await admin.query(list))['workspaceSecrets']).toMatchObject([{ name: 'TOKEN' }]);
    const { data, errors } = await ask(api, '{ workspaceSecrets { value } }', { key: people.admin.key });
    expect([data, errors.length]).toEqual([undefined, 1]);
    const remove =
      'mutation { removeWorkspaceSecret(input: { name: "TOKEN" }) { secret { name } userErrors { code } } }';
    expect((await admin.query(remove))['removeWorkspaceSecret']).toMatchObject({ secret: { name: 'TOKEN' } });
    expect((await admin.query(list))['workspaceSecrets']).toEqual([]);
    expect((await admin.query(remove))['removeWorkspaceSecret']).toMatchObject({ userErrors: [{ code: 'not_found' }] });
  });
});

describe('workspace tools without permission', () => {
  it('return the same errors for existing and for unknown names', async () => {
    await setSecret(admin);
    const { id } = await made();
    const outsiders = [people.member, people.viewer, strangers.owner];
    const unprivilegedKey = await api.people.keyOf(people.owner.principal, ['read', 'write', 'approve']);
    for (const { key } of [...outsiders, unprivilegedKey]) {
      const see = async (text: string, variables: object = {}) => {
        const { data, errors } = await ask(api, text, { key, variables });
        return JSON.stringify([data, errors.map(({ message, extensions }) => [message, extensions['code']])]);
      };
      const one = 'query($id: ID!) { workspaceTool(id: $id) { name } }';
      expect(await see(one, { id })).toBe('[{"workspaceTool":null},[]]');
      const remove = 'mutation($id: ID!) { removeTool(input: { id: $id }) { userErrors { code message } } }';
      const missing = '00000000-0000-7000-8000-000000000000';
      expect(await see(remove, { id })).toBe(await see(remove, { id: missing }));
      const all = `${await see('{ workspaceTools { nodes { name } } }')}${await see('{ workspaceSecrets { name } }')}`;
      expect(all).not.toMatch(/get_user|TOKEN/);
    }
    const { tools } = await graphqlMember(api, strangers.owner.key).query('{ tools { name } }');
    expect(JSON.stringify(tools)).not.toContain('get_user');
  });
});
