import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { toolsKeyOf } from '#platform';

import { TEST_SECRET } from '../harness/database.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { McpApiFixture } from '../harness/mcp-api-fixture.js';
import { type NightshiftProcess, runToEnd, startProcess, withoutLogin } from '../harness/processes.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

const canary = 'canary-0123456789';
const SET_SECRET = `mutation($value: String!) { setWorkspaceSecret(input: { name: "TOKEN", value: $value }) { userErrors { code } } }`;
const REGISTER = `mutation($definition: JSON!) { registerTool(input: { definition: $definition }) { userErrors { code message } } }`;
const JOB = `query($id: ID!) { job(id: $id) { status content toolCalls { name status result error { message } } } }`;

describe('role tools with its own key and login', () => {
  const given = new McpApiFixture({ BUS: 'postgres', WORKER_QUEUES: 'jobs' });
  let target: HttpTarget;
  let tools: NightshiftProcess;

  beforeAll(async () => {
    target = await startHttpTarget((_, response) =>
      response.setHeader('content-type', 'application/json').end('{"name": "Ada"}'),
    );
    tools = await startProcess({
      role: 'tools',
      databaseUrl: given.database.urls.owner,
      secret: TEST_SECRET,
      env: { ALLOW_PRIVATE_TOOL_URLS: 'true' },
    });
  });

  afterAll(async () => {
    await tools.stop();
    await target.close();
  });

  const run = async (user: GraphqlMember, name: string, args: object) => {
    given.model.enqueue(toolCallReply([{ id: 'call_1', name, arguments: JSON.stringify(args) }]), textReply(['Done.']));
    const { jobId } = await user.run({ message: 'Go', tools: [name] });
    const { job } = await user.query(JOB, { id: jobId });
    return job;
  };

  it('calls an HTTP tool with a secret of its workspace and settles the call', async () => {
    await given.admin.query(SET_SECRET, { value: canary });
    const definition = {
      name: 'get_user',
      description: 'Finds a user.',
      parameters: { type: 'object', properties: {} },
      method: 'GET',
      url: `${target.url}/user`,
      headers: [{ name: 'Authorization', value: 'Bearer {{secret:TOKEN}}' }],
      result: '$.name',
      isolation: 'queue',
    };
    expect(await given.admin.query(REGISTER, { definition })).toMatchObject({ registerTool: { userErrors: [] } });
    const user = graphqlMember(given.api, given.people.member.key);
    expect(await run(user, 'get_user', {})).toMatchObject({
      status: 'COMPLETED',
      content: 'Done.',
      toolCalls: [{ name: 'get_user', status: 'COMPLETED', result: 'Ada' }],
    });
    expect(target.requests.at(-1)?.headers['authorization']).toBe(`Bearer ${canary}`);
    expect(tools.output()).not.toContain('permission denied');
  });

  it('calls an MCP tool of a workspace', async () => {
    await given.register({ accept: { all: true }, calls: { isolated: true } });
    const user = graphqlMember(given.api, given.people.member.key);
    expect(await run(user, 'test.echo', { text: 'hi' })).toMatchObject({
      toolCalls: [{ status: 'COMPLETED', result: 'hi' }],
    });
  });

  it('refuses an MCP tool whose definition has changed, and writes the change to its server', async () => {
    await given.register({ accept: { all: true }, calls: { isolated: true } });
    // Without a notification: the process lists the tools when it connects for the call.
    given.server.describe('echo', 'Something else.', false);
    const user = graphqlMember(given.api, given.people.member.key);
    expect(await run(user, 'test.echo', { text: 'hi' })).toMatchObject({ toolCalls: [{ status: 'ERROR' }] });
    const { rows } = await given.database.postgres.withWorkspaceSql(
      given.people.owner.principal.workspaceId,
      (client) => client.query(`SELECT name FROM mcp_tool WHERE accepted_hash <> hash`),
    );
    expect(rows).toEqual([{ name: 'echo' }]);
    expect(tools.output()).not.toContain('permission denied');
  });

  it.each([
    ['without its key', { NIGHTSHIFT_TOOLS_KEY: '' }, 'Role tools needs NIGHTSHIFT_TOOLS_KEY'],
    ['with the root secret', { NIGHTSHIFT_SECRET: TEST_SECRET }, 'Role tools must run without NIGHTSHIFT_SECRET'],
    ['without a database', { DATABASE_URL: '' }, 'set DATABASE_URL'],
    ['with jobs to run', { WORKER_QUEUES: 'jobs,tool-execution' }, 'Role tools runs no jobs'],
    ['with the login of another role', { DATABASE_URL: 'postgres://owner:word@127.0.0.1:1/x' }, 'remove the login'],
  ])('refuses to start %s and prints the reason as a sentence', async (_, env, sentence) => {
    const usual = {
      NIGHTSHIFT_TOOLS_KEY: toolsKeyOf(TEST_SECRET),
      DATABASE_URL: withoutLogin(given.database.urls.owner),
    };
    const { code, stderr } = await runToEnd(['--role', 'tools'], { ...usual, ...env });
    expect(code).toBe(1);
    expect(
      stderr
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('{')),
    ).toEqual([expect.stringContaining(sentence)]);
  });
});
