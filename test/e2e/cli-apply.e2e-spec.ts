import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { runCli, startInTerminal } from '../harness/cli.js';
import type { CliServer } from '../harness/cli-server.js';
import { startTestCliServer } from '../harness/test-cli-server.js';

type Json = Record<string, unknown>;

const header = (name: string, value: string) => ({ name, value });
const example = join(process.cwd(), 'examples', 'workspace');

/** The tests share one workspace, in this order; each begins with a fresh copy of the example folder. */
describe('nightshift apply', () => {
  let server: CliServer;
  let folder: string;

  beforeAll(async () => {
    server = await startTestCliServer();
    folder = join(server.folder, 'workspace');
  });
  beforeEach(() => {
    rmSync(folder, { recursive: true, force: true });
    cpSync(example, folder, { recursive: true });
  });
  afterAll(() => server.close());

  const apply = (...flags: string[]) => runCli(['apply', folder, ...flags], { env: server.env });
  const fileOf = (...path: string[]) => join(folder, ...path);
  /** Sets the field at a path such as `nodes.1.data`; undefined removes it. */
  const set = (file: string, path: string, value: unknown) => {
    const document = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Json;
    const names = path.split('.');
    const last = names.pop() ?? '';
    // The examples have these fields.
    const parent = names.reduce<Json>((found, name) => found[name] as Json, document);
    parent[last] = value;
    writeFileSync(join(folder, file), JSON.stringify(document));
  };
  async function versions(): Promise<unknown> {
    const query = `{ approvalPolicy { version } workspaceTools { nodes { name version } } agents { nodes { slug version } }
      workflows { nodes { clientId draftVersion latestVersion publishedVersion } } workflowSchedules { nodes { id prompt updatedAt } } }`;
    const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query });
    return (
      (await (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).json()) as { data: unknown }
    ).data;
  }

  it('changes nothing with --dry-run, and without --yes without a terminal', async () => {
    const before = await versions();
    const dry = await apply('--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: 'Nothing was applied.\n' });
    expect(dry.stdout).toMatch(/^~ change +the approval policy .*\n {4}decidableBy: "requester" → "approvers"$/m);
    expect(dry.stdout).toMatch(/^\+ create +the tool get_order .*get_order\.json$/m);
    expect(dry.stdout).toContain('7 to create, 1 to change, 0 unchanged.');
    expect(await apply()).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') });
    expect(await versions()).toEqual(before);
  });

  it('creates everything in order, publishes workflows, and a second run changes nothing', async () => {
    const first = await apply('--yes', '--json');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const lines = first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ event }) => event === 'applied').map(({ file }) => file)).toEqual([
      ...['policy.json', 'tools/get_order.json', 'tools/refund_order.json', 'agents/order-clerk.json'],
      ...[
        'workflows/shorten.json',
        'workflows/daily-report.json',
        'schedules/morning-report.json',
        'schedules/evening-orders.json',
      ],
    ]);
    expect(lines.at(-1)).toEqual({ event: 'result', create: 7, change: 1, unchanged: 0, applied: 8 });
    const applied = await versions();
    expect(applied).toMatchObject({ workspaceTools: { nodes: [{ version: 1 }, { version: 1 }] } });
    const second = await apply('--yes');
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nNothing changes: 8 unchanged\.\n$/) });
    expect(await versions()).toEqual(applied);
  });

  it('shows the fields that change and changes only those files, after a confirmation on the terminal', async () => {
    set('tools/get_order.json', 'timeoutMs', 5_000);
    set('agents/order-clerk.json', 'limits', { maxRounds: 9 });
    set('workflows/shorten.json', 'nodes.1.data.prompt', 'Shorten the text.');
    set('schedules/morning-report.json', 'enabled', false);
    set('schedules/evening-orders.json', 'message', 'Which orders are late?');
    const refused = startInTerminal(['apply', folder], { env: server.env });
    await refused.waitForOutput('Apply these changes?');
    refused.type('\r');
    expect(await refused.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing was applied.') });
    const confirmed = startInTerminal(['apply', folder], { env: server.env });
    await confirmed.waitForOutput('Apply these changes?');
    confirmed.type('\u001b[B\r');
    const { code, stdout } = await confirmed.exited;
    expect(code).toBe(0);
    for (const line of [
      'timeoutMs: (none) → 5000',
      'limits.maxRounds: 8 → 9',
      'definition.nodes.1.data.prompt: "Shorten the text to five sentences. Reply with the text onl… → "Shorten the text."',
      'enabled: true → false',
      'messages.0.content: "Which orders of today need attention tomorrow?" → "Which orders are late?"',
      'Applied 5 of 5.',
    ])
      expect(stdout).toContain(line);
    expect((await apply('--yes')).stdout).toContain('Nothing changes: 8 unchanged.');
    expect(await versions()).toMatchObject({
      agents: { nodes: expect.arrayContaining([{ slug: 'order-clerk', version: 2 }]) },
    });
  });

  it('stops at the first refusal, names the file and the field, and lists what was applied', async () => {
    set('tools/get_order.json', 'description', 'Finds an order.');
    set('agents/order-clerk.json', 'tools', ['absent']);
    set('schedules/morning-report.json', 'prompt', 'Never saved');
    const run = await apply('--yes');
    expect(run.code).toBe(1);
    expect(JSON.stringify(await versions())).not.toContain('Never saved');
    expect(run.stderr).toMatch(/^agents\/order-clerk\.json: tools: .*absent/m);
    expect(run.stderr).toMatch(/^Applied before: .*the tool get_order.* \(\d of \d\)\. Correct the file/m);
  });

  it.each<[file: string, path: string, value: unknown]>([
    ['tools/get_order.json', 'url', 'ftp://x'],
    ['policy.json', 'rules', [{}]],
    ['agents/order-clerk.json', 'toolz', []],
    ['agents/order-clerk.json', 'toolApproval', { default: 1 }],
    ['workflows/shorten.json', 'meta.id', undefined],
    ['schedules/morning-report.json', 'name', ''],
  ])('refuses %s with the wrong field %s before it changes anything', async (file, path, value) => {
    const before = await versions();
    set(file, path, value);
    const fault = expect.stringContaining(`${file}: ${path}`) as unknown;
    expect(await apply('--yes')).toMatchObject({ stdout: '', stderr: fault });
    expect(await versions()).toEqual(before);
  });

  it('registers MCP servers, and changes only the fields that a file has', async () => {
    mkdirSync(fileOf('mcp-servers'));
    const write = (server: Json) => {
      writeFileSync(fileOf('mcp-servers', 'local.json'), JSON.stringify({ name: 'local', ...server }));
    };
    const http = { url: 'http://127.0.0.1:1/mcp', headers: [header('X-Tenant', 'a'), header('X-A', 'b')] };
    write({ http, calls: { timeoutMs: 5_000, effects: [{ tool: 'search', effect: 'PURE' }] } });
    expect((await apply('--yes')).stdout).toMatch(/^\+ create +the MCP server local /m);
    expect((await apply('--yes')).stdout).toMatch(/^= unchanged the MCP server local /m);
    write({ http: { ...http, headers: [header('X-A', 'c'), header('X-Tenant', 'a')] }, calls: { isolated: true } });
    const changed = await apply('--yes');
    expect(changed.stdout).toMatch(/^~ change +the MCP server local /m);
    expect(changed.stdout).toContain('http.headers.X-A: "b" → "c"');
    expect(changed.stdout).toContain('calls.isolated: false → true');
    expect(changed.stdout).not.toContain('timeoutMs');
    write({ calls: { timeoutMs: 5_000, effects: [{ tool: 'search', effect: 'PURE' }] } });
    expect((await apply('--yes')).stdout).toMatch(/^= unchanged the MCP server local /m);
    write({ http: { url: 'ftp://x' } });
    expect((await apply('--yes')).stderr).toMatch(/^mcp-servers\/local\.json: url: /m);
    write({ accept: { all: true } });
    expect((await apply('--yes')).stderr).toMatch(/^mcp-servers\/local\.json: accept: is not a field/m);
  });

  it('saves Syntrix connections before triggers, and a second run changes neither', async () => {
    for (const name of ['triggers', 'syntrix-connections']) mkdirSync(fileOf(name));
    const write = (file: string, content: Json) => {
      writeFileSync(fileOf(...file.split('/')), JSON.stringify(content));
    };
    const trigger = { triggerId: 'new-issue', source: 'webhook', start: { prompt: 'title', delay: '1m' } };
    const shop = { name: 'shop', baseUrl: 'https://syntrix.invalid', database: 'shop' };
    write('syntrix-connections/shop.json', { ...shop, rateLimit: 5 });
    write('triggers/new-issue.json', trigger);
    const created = await apply('--yes');
    expect(created.stdout).toMatch(
      /^\+ create +the Syntrix connection shop .*\n\+ create +the trigger default\/new-issue /m,
    );
    const again = await apply('--yes');
    expect(again.stdout).toMatch(/^= unchanged the Syntrix connection shop .*\n= unchanged the trigger default/m);
    write('triggers/new-issue.json', { ...trigger, start: { prompt: 'title', delay: '60s' }, enabled: false });
    write('syntrix-connections/shop.json', { ...shop, maxToolCalls: 9 });
    const { stdout } = await apply('--yes');
    for (const line of ['enabled: true → false', 'maxToolCalls: 5 → 9', 'rateLimit: 5 → (none)', 'Applied 2 of 2.'])
      expect(stdout).toContain(line);
    expect(stdout).not.toContain('delay');
    write('triggers/new-issue.json', { ...trigger, condition: 'title ==' });
    write('syntrix-connections/shop.json', { name: 'shop', database: 'other' });
    const refused = await apply('--yes');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^triggers\/new-issue\.json: .*invalid condition: /m);
    write('triggers/new-issue.json', { ...trigger, enabled: false });
    expect((await apply('--dry-run')).stdout).toContain('database: "shop" → "other"');
    write('triggers/new-issue.json', { ...trigger, colection: 'x' });
    expect((await apply()).stderr).toMatch(/^triggers\/new-issue\.json: colection: is not a field/m);
  });

  it('refuses files that are unreadable, not JSON, or define the same name', async () => {
    writeFileSync(fileOf('tools', 'broken.json'), '{');
    expect(await apply()).toMatchObject({ code: 2, stderr: expect.stringMatching(/^tools\/broken\.json: not JSON: /) });
    cpSync(fileOf('tools', 'get_order.json'), fileOf('tools', 'broken.json'));
    expect(await apply()).toMatchObject({ code: 2, stderr: expect.stringContaining('both define the tool get_order') });
    rmSync(fileOf('tools', 'broken.json'));
    mkdirSync(fileOf('agent'));
    expect(await apply()).toMatchObject({ code: 2, stderr: expect.stringContaining('is neither a file nor a folder') });
  });
});
