import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer } from '@nightshift/plugin/testing';

import { runCli } from '../harness/cli.js';
import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { type NightshiftProcess, serveEntry, startProcess } from '../harness/processes.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { workflowDocument } from '../harness/workflow-document.js';

describe('the file .env in the working directory', () => {
  const plugin = `import { definePlugin, defineTool } from '@nightshift/plugin';
const ping = defineTool({ name: 'ping', description: 'Pings.', input: { type: 'object' }, execute: () => 'pong' });
export default definePlugin({
  name: 'mode', version: '1.0.0', tools: [ping],
  setup({ config, logger }) {
    logger.info({ mode: config.NAME ?? 'none' }, 'setting up');
    if (config.NAME === 'closed') throw new Error('the mode is closed');
  },
});
`;

  /** A folder of a user, with `.env`. */
  let folder: string;
  let server: NightshiftProcess;
  const reads = { READ_ENV_FILE: 'true' };
  const modes = (lines: readonly object[]) =>
    lines.flatMap((line) => ('msg' in line && line.msg === 'setting up' && 'details' in line ? [line.details] : []));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-env-file-'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins', 'mode.mjs'), plugin);
    writeFileSync(join(folder, '.env'), `PLUGIN_MODE_NAME=file\nDATA_DIR=${join(folder, 'data')}\n`);
    symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
    server = await startProcess({ role: 'all', entry: serveEntry, cwd: folder, env: reads });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('configures a server and its plugins', () => {
    expect(modes(server.logs())).toEqual([{ mode: 'file' }]);
  });

  it('configures the command line, which finds the server of its DATA_DIR and lists the plugins', async () => {
    const { code, stdout } = await runCli(['plugins', 'list', '--json'], { cwd: folder, env: reads });
    expect({
      code,
      plugins: stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    }).toEqual({
      code: 0,
      plugins: [
        {
          ...{ name: 'mode', version: '1.0.0', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
          ...{ tools: ['ping'], hooks: [], nodes: [] },
        },
      ],
    });
    const { stdout: table } = await runCli(['plugins', 'list'], { cwd: folder, env: reads });
    expect(table).toMatch(/^PLUGIN +VERSION +HASH +TOOLS +HOOKS +NODES *\nmode +1\.0\.0 +[0-9a-f]{12} +ping *\n$/);
  });

  it('configures the plugin that `plugins check` loads', async () => {
    const path = join('plugins', 'mode.mjs');
    expect((await runCli(['plugins', 'check', path], { cwd: folder, env: reads })).code).toBe(0);
    const closed = await runCli(['plugins', 'check', path], { cwd: folder, env: { PLUGIN_MODE_NAME: 'closed' } });
    expect({ ...closed, code: 2 }).toMatchObject({ stderr: expect.stringContaining('the mode is closed') });
    writeFileSync(join(folder, 'plugins', '.env'), 'PLUGIN_MODE_NAME=closed\n');
    const below = await runCli(['plugins', 'check', 'mode.mjs'], { cwd: join(folder, 'plugins'), env: reads });
    expect(below.code).toBe(2);
  });

  it('configures the commands of operators', async () => {
    writeFileSync(join(folder, 'plugins', '.env'), 'JWT_SECRET=too-short\n');
    const { code, stderr } = await runCli(['admin', 'token'], { cwd: join(folder, 'plugins'), env: reads });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('JWT_SECRET must be') });
  });

  it('does not configure a server of createTestServer', async () => {
    const tested = await createTestServer({ server: process.cwd(), workingDirectory: folder });
    try {
      expect(modes(tested.logs())).toEqual([{ mode: 'none' }]);
    } finally {
      await tested.close();
    }
  });
});

describe('feature flags', () => {
  const root = process.cwd();

  /** A tool that a person must approve, behind the same flag as the tool of the page. */
  const guarded = `import { defineTool } from '@nightshift/plugin';
export const tool = defineTool({
  name: 'guarded_search', description: 'Searches after approval.', flag: 'guarded-search', approval: 'require_approval',
  input: { type: 'object' }, execute: () => 'found',
});`;

  let folder: string;
  let database: TestDatabase;
  let model: ScriptedModel;
  let server: NightshiftProcess;
  let acme: GraphqlMember & { readonly id: string; readonly key: string };
  let other: GraphqlMember & { readonly id: string; readonly key: string };

  const installation = () => ({ DATABASE_URL: database.urls.owner, NIGHTSHIFT_SECRET: TEST_SECRET });
  const admin = (...words: readonly string[]) => runCli(['admin', ...words], { cwd: folder, env: installation() });
  const set = async (...words: readonly string[]) => {
    expect(await admin('flags', 'set', ...words)).toMatchObject({ code: 0 });
  };
  const jsonOf = async (...words: readonly string[]) =>
    JSON.parse((await admin(...words, '--json')).stdout) as Readonly<Record<string, string>>;
  const memberOf = async (name: string) => {
    const email = `${name.toLowerCase()}@example.com`;
    const { id = '' } = await jsonOf('workspaces', 'create', name, '--owner', email);
    const { secret: key = '' } = await jsonOf('keys', 'create', id, email, '--scopes', 'read,write,approve,admin');
    return { id, key, ...graphqlMember({ url: server.url ?? '' }, key) };
  };
  const toolsOf = async (member: GraphqlMember) => {
    const { tools } = (await member.query('{ tools { name } }')) as { tools: { name: string }[] };
    return tools.map(({ name }) => name).filter((name) => ['search_notes', 'guarded_search'].includes(name));
  };
  const flagsOf = async (member: GraphqlMember) =>
    (await member.query(documentExample('docs/feature-flags.md', 'query')))['featureFlags'];
  const untilFlag = (member: GraphqlMember, name: string, enabled: boolean) =>
    eventually(`${name} is ${enabled ? 'on' : 'off'}`, async () => {
      const flags = (await flagsOf(member)) as { name: string; enabled: boolean }[];
      return flags.some((flag) => flag.name === name && flag.enabled === enabled) ? true : undefined;
    });
  const inShell = (script: string) => {
    const bin = join(root, 'node_modules', '.bin');
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...installation() };
    return promisify(execFile)('bash', ['-ec', script.replaceAll('npx nightshift', 'nightshift')], {
      cwd: folder,
      env,
    });
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-flags-'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins', 'search.ts'), documentExample('docs/feature-flags.md', 'tool'));
    writeFileSync(join(folder, 'plugins', 'guarded.ts'), guarded);
    writeFileSync(join(folder, 'client.mts'), documentExample('docs/feature-flags.md', 'client'));
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    const env = { MODEL_BASE_URL: model.url, MODEL_NAME: 'scripted' };
    server = await startProcess({
      ...{ role: 'all', databaseUrl: database.urls.owner, secret: TEST_SECRET, env, cwd: folder },
    });
    acme = await memberOf('Acme');
    other = await memberOf('Other');
  });

  afterAll(async () => {
    await server.stop();
    await model.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('offer a tool to the allowed workspace only, as docs/feature-flags.md does', async () => {
    expect([await toolsOf(acme), await flagsOf(acme)]).toEqual([[], []]);
    const refused = await acme.start({ message: 'Search', tools: ['search_notes'] });
    expect(refused).toMatchObject({ jobId: null, userErrors: [{ code: 'bad_request' }] });
    const { stdout } = await inShell(documentExample('docs/feature-flags.md', 'allow').replace('"Demo"', '"Acme"'));
    expect(stdout).toMatch(/^new-search: default off, 0 % of workspaces, 1 allowed, 0 denied$/m);
    await untilFlag(acme, 'new-search', true);
    expect(await flagsOf(other)).toEqual([{ name: 'new-search', enabled: false }]);
    expect([await toolsOf(acme), await toolsOf(other)]).toEqual([['search_notes'], []]);

    model.enqueue(
      toolCallReply([{ id: 'call_1', name: 'search_notes', arguments: '{"text":"x"}' }]),
      textReply(['Ok']),
    );
    const { jobId } = await acme.run({ message: 'Search', tools: ['search_notes'] });
    const { job } = await acme.query('query($id: ID!) { job(id: $id) { status toolCalls { status } } }', { id: jobId });
    expect(job).toEqual({ status: 'COMPLETED', toolCalls: [{ status: 'COMPLETED' }] });
    expect(await other.start({ message: 'Search', tools: ['search_notes'] })).toMatchObject({ jobId: null });
  });

  it('keep a tool from agents and workflows of a workspace that does not have it', async () => {
    const work = ['agent', { model: 'scripted', tools: ['*'] }] as const;
    const definition = workflowDocument({ start: 'start', work, end: 'output' }, ['start > work', 'work > end']);
    const create = `mutation { createAgent(input: { name: "Clerk", tools: ["search_*", "calculate"] }) { agent { slug } } }`;
    const load = `mutation($definition: JSON!) { importWorkflow(input: { definition: $definition }) { workflow { id } } }`;
    const publish = `mutation($id: ID!) { publishWorkflow(input: { id: $id }) { userErrors { message issues } } }`;
    const start = `mutation($id: ID!) { startWorkflow(input: { workflowId: $id, prompt: "Go" }) { jobId userErrors { message issues } } }`;
    const offered = () => {
      const { tools = [] } = model.requests.at(-1)?.json as { tools?: { function: { name: string } }[] };
      return tools.map(({ function: { name } }) => name).includes('search_notes');
    };
    for (const [member, isOffered] of [[acme, true] as const, [other, false] as const]) {
      await member.query(create);
      model.enqueue(textReply(['By the agent']));
      await member.run({ message: 'Go', agent: { id: 'clerk' } });
      expect(offered()).toBe(isOffered);
      const { importWorkflow } = await member.query(load, { definition });
      const { id } = (importWorkflow as { workflow: { id: string } }).workflow;
      expect(await member.query(publish, { id })).toEqual({ publishWorkflow: { userErrors: [] } });
      model.enqueue(textReply(['By the workflow']));
      const { startWorkflow } = await member.query(start, { id });
      expect(startWorkflow).toMatchObject({ userErrors: [] });
      await member.finished((startWorkflow as { jobId: string }).jobId);
      expect(offered()).toBe(isOffered);
    }
    model.assertDone();
  });

  it('reach the client, and everyone by the default, as docs/feature-flags.md does', async () => {
    const env = { PATH: process.env['PATH'], NIGHTSHIFT_URL: server.url ?? '', NIGHTSHIFT_KEY: other.key };
    const client = () => promisify(execFile)(process.execPath, ['client.mts'], { cwd: folder, env });
    expect((await client()).stdout).toBe('show the old search\n');
    const { stdout } = await inShell(documentExample('docs/feature-flags.md', 'rollout'));
    expect(stdout.match(/flag-set/g)).toHaveLength(5);
    await untilFlag(other, 'new-search', true);
    expect((await client()).stdout).toBe('show the new search\n');
    await set('new-search', '--deny', other.id);
    await untilFlag(other, 'new-search', false);
    expect(await toolsOf(other)).toEqual([]);
  });

  it('refuse the call of a job that runs when its flag is turned off, even if a person approves it', async () => {
    await set('guarded-search', '--allow', acme.id);
    await untilFlag(acme, 'guarded-search', true);
    model.enqueue(toolCallReply([{ id: 'call_2', name: 'guarded_search', arguments: '{}' }]), textReply(['Sorry']));
    const { jobId } = await acme.start({ message: 'Search', tools: ['guarded_search'] });
    const open = await eventually('the request is open', async () => {
      const { interrupts } = await acme.query(
        '{ interrupts(filter: { status: { eq: OPEN } }) { nodes { id request } } }',
      );
      return (interrupts as { nodes: { id: string; request: { argumentsHash: string } }[] }).nodes[0];
    });
    await set('guarded-search', '--unlist', acme.id);
    await untilFlag(acme, 'guarded-search', false);
    const approve = `mutation($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`;
    const input = { id: open.id, decision: 'APPROVE', argumentsHash: open.request.argumentsHash };
    expect(await acme.query(approve, { input })).toEqual({ resolveInterrupt: { userErrors: [] } });
    await acme.finished(jobId);
    const { job } = await acme.query(
      'query($id: ID!) { job(id: $id) { status toolCalls { status error { message } } } }',
      {
        id: jobId,
      },
    );
    expect(job).toEqual({
      status: 'COMPLETED',
      toolCalls: [{ status: expect.not.stringMatching('COMPLETED'), error: { message: expect.any(String) } }],
    });
  });

  it('stay the same after a command with a wrong name, percentage or id', async () => {
    expect(await admin('flags', 'set', 'Not-Kebab')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('name:'),
    });
    expect(await admin('flags', 'set', 'new-search', '--rollout', '101')).toMatchObject({ code: 2 });
    expect(await admin('flags', 'set', 'new-search', '--allow', acme.key)).toMatchObject({ code: 1 });
    expect(await admin('flags', 'remove', 'unheard-of')).toMatchObject({ code: 4 });
    expect(await admin('members', 'add', acme.id, 'a@example.com', '--role', 'odd')).toMatchObject({ code: 2 });
  });
});
