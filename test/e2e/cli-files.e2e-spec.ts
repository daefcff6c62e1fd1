import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { migrate } from '#platform';

import { findPgTools } from '../../libs/platform/src/postgres/backup/pg-tools.js';
import { runCli, startInTerminal } from '../harness/cli.js';
import type { CliServer } from '../harness/cli-server.js';
import { createEmptyDatabase, dropTestDatabase, TEST_SECRET } from '../harness/database.js';
import { runToEnd, startProcess } from '../harness/processes.js';
import { startTestCliServer } from '../harness/test-cli-server.js';

/** The Postgres of the tests is 18; its package has no client programs. */
const tools = await findPgTools({ major: 18, text: '18' }, process.env['PATH'] ?? '').catch(() => null);
const path = `${tools?.folder ?? ''}:${process.env['PATH'] ?? ''}`;

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-backup-'));
  await runToEnd(['--help']); // compiles
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const place = (name: string) => join(folder, name);
const nightshift = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCli(words, { env: { PATH: path, ...env } });

describe('nightshift backup', () => {
  (tools === null ? it : it.skip)('names the package to install where no pg_dump fits the server', async () => {
    mkdirSync(place('empty'));
    writeFileSync(place('empty/postgres-password'), 'x');
    const ended = await nightshift(['backup', place('none.dump'), '--data-dir', place('empty'), '--json']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(ended.stderr)).toMatchObject({
      error: { code: 'pg_tools_missing', message: expect.stringContaining('postgresql-client-18') },
    });
    expect(readdirSync(folder)).not.toContain('none.dump');
    expect(readdirSync(place('empty'))).toEqual(['postgres-password']);
  });

  it.each([
    [['backup', 'a.dump'], 'contains no database'],
    [['restore', 'a.dump'], 'contains no secret of an installation'],
  ])('%j creates nothing in a data directory that does not exist', async ([command = '', file = ''], message) => {
    const ended = await nightshift([command, place(file), '--data-dir', place('mistyped'), '--json']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(ended.stderr)).toMatchObject({
      error: { code: 'no_installation', message: expect.stringContaining(message) },
    });
    expect(existsSync(place('mistyped'))).toBe(false);
  });

  it('refuses a file that cannot be written or read before the database is opened', async () => {
    mkdirSync(place('checked'));
    for (const file of ['postgres-password', 'secret']) writeFileSync(place(`checked/${file}`), 'x');
    const at = ['--data-dir', place('checked')];
    expect(await nightshift(['backup', place('nowhere/a.dump'), ...at])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining(`The folder ${place('nowhere')} does not exist.`) },
    });
    expect(await nightshift(['restore', place('absent.dump'), ...at])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('the file does not exist') },
    });
    expect(readdirSync(place('checked'))).toEqual(['postgres-password', 'secret']);
  });

  it.each([
    [['backup'], 'missing required argument'],
    [['restore', 'x', '--relpace'], '--replace'],
  ])('refuses %j as usage', async (words, message) => {
    expect(await nightshift(words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});

(tools === null ? describe.skip : describe)('a backup by pg_dump of the version of the server', () => {
  const names: string[] = [];

  afterEach(async () => {
    for (const name of names.splice(0)) await dropTestDatabase(name);
  });

  it('nightshift restore restores every job of the embedded Postgres, and waiting jobs continue', async () => {
    const [from, to, file] = [place('from'), place('to'), place('embedded.dump')];
    const before = await startProcess({ role: 'all', flags: ['--data-dir', from] });
    const env = { DATA_DIR: from };
    await nightshift(['run', 'What is 2 ^ 10?', '--tools', 'calculate', '--json'], env);
    const waiting = await nightshift(['run', 'What is 17 * 23?', '--tools', 'calculate', '--ask', '--json'], env);
    expect(waiting.code).toBe(6);
    const jobs = (await nightshift(['jobs', '--json'], env)).stdout;

    expect(await nightshift(['backup', file, '--json'], env)).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await nightshift(['backup', file, '--json'], env)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('backup_exists') },
    });
    expect(await nightshift(['restore', file, '--replace', '--json'], env)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('already_running') },
    });
    await before.stop();
    mkdirSync(to);
    copyFileSync(join(from, 'secret'), join(to, 'secret'));
    expect(await nightshift(['restore', file, '--data-dir', to])).toMatchObject({ code: 0 });
    expect(await nightshift(['restore', file, '--data-dir', to, '--json'])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('database_not_empty') },
    });
    copyFileSync(join(from, 'demo-api-key'), join(to, 'demo-api-key'));
    expect(await nightshift(['restore', file, '--data-dir', to, '--replace'])).toMatchObject({ code: 0 });

    const after = await startProcess({ role: 'all', flags: ['--data-dir', to] });
    expect((await nightshift(['jobs', '--json'], { DATA_DIR: to })).stdout).toBe(jobs);
    const [request] = (await nightshift(['approve', '--json'], { DATA_DIR: to })).stdout.split('\n');
    const { id, jobId } = JSON.parse(request ?? '') as { id: string; jobId: string }; // as `approve --json` has it
    expect(await nightshift(['approve', id, '--yes'], { DATA_DIR: to })).toMatchObject({ code: 0 });
    expect(await nightshift(['attach', jobId], { DATA_DIR: to })).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('391') },
    });
    await after.stop();
  });

  it('nightshift backup creates a complete, restorable backup with a login without superuser rights', async () => {
    const login = `backup_${process.pid}`;
    const [source, target] = [`backup_source_${process.pid}`, `backup_target_${process.pid}`];
    names.push(source, target);
    const admin = await createEmptyDatabase(source);
    await createEmptyDatabase(target);
    await onServer(admin.owner, [
      `CREATE ROLE ${login} LOGIN CREATEROLE PASSWORD 'p'`,
      `DO $$ BEGIN CREATE ROLE nightshift_owner; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
      `GRANT nightshift_owner TO ${login} WITH ADMIN OPTION`,
      `ALTER DATABASE ${source} OWNER TO ${login}`,
      `ALTER DATABASE ${target} OWNER TO ${login}`,
    ]);
    const urlOf = (name: string) => {
      const url = new URL(admin.owner);
      [url.username, url.password, url.pathname] = [login, 'p', `/${name}`];
      return url.toString();
    };
    await migrate({ ...admin, owner: urlOf(source) });
    const workspace = `INSERT INTO workspace (id, name) VALUES ('01a20000-0000-7000-8000-000000000001', 'Kept')`;
    await onServer(urlOf(source), [workspace]);
    const file = place('login.dump');
    const env = (name: string) => ({ DATABASE_URL: urlOf(name), NIGHTSHIFT_SECRET: TEST_SECRET });
    expect(await nightshift(['backup', file], env(source))).toMatchObject({ code: 0, stderr: '' });

    await onServer(urlOf(source), [`CREATE TABLE hidden (id int)`, `ALTER TABLE hidden ENABLE ROW LEVEL SECURITY`]);
    expect(await nightshift(['backup', place('hidden.dump'), '--json'], env(source))).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('every row of hidden') },
    });

    expect(await nightshift(['restore', file], env(target))).toMatchObject({ code: 0, stderr: '' });
    const [kept] = await onServer(urlOf(target), ['SELECT name FROM workspace']);
    expect(kept?.rows).toEqual([{ name: 'Kept' }]);
    const [owners] = await onServer(urlOf(target), [
      `SELECT DISTINCT pg_get_userbyid(relowner) AS owner FROM pg_class 
        WHERE relnamespace = 'public'::regnamespace AND relname IN ('job', 'tool_call')`,
    ]);
    expect(owners?.rows).toEqual([{ owner: 'nightshift_owner' }]);
    await dropTestDatabase(source);
    await dropTestDatabase(target);
    await onServer(admin.owner.replace(`/${source}`, '/postgres'), [`DROP OWNED BY ${login}`, `DROP ROLE ${login}`]);
  });

  it('nightshift restore fails for an invalid file before anything is deleted', async () => {
    const file = place('text.dump');
    writeFileSync(file, 'not a dump');
    const ended = await nightshift(['restore', file, '--data-dir', place('to'), '--replace', '--json']);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('not_a_backup') });
    expect(await nightshift(['backup', place('still.dump'), '--data-dir', place('to')])).toMatchObject({ code: 0 });
  });
});

/** The tests share one workspace, in this order; each begins with a fresh copy of the example folder. */
describe('nightshift apply', () => {
  type Json = Record<string, unknown>;

  const header = (name: string, value: string) => ({ name, value });
  const example = join(process.cwd(), 'examples', 'workspace');

  let server: CliServer;
  let workspace: string;

  beforeAll(async () => {
    server = await startTestCliServer();
    workspace = join(server.folder, 'workspace');
  });
  beforeEach(() => {
    rmSync(workspace, { recursive: true, force: true });
    cpSync(example, workspace, { recursive: true });
  });
  afterAll(() => server.close());

  const apply = (...flags: string[]) => runCli(['apply', workspace, ...flags], { env: server.env });
  const fileOf = (...path: string[]) => join(workspace, ...path);
  /** Sets the field at a path such as `nodes.1.data`; undefined removes it. */
  const set = (file: string, path: string, value: unknown) => {
    const document = JSON.parse(readFileSync(join(workspace, file), 'utf8')) as Json;
    const names = path.split('.');
    const last = names.pop() ?? '';
    // The examples have these fields.
    const parent = names.reduce<Json>((found, name) => found[name] as Json, document);
    parent[last] = value;
    writeFileSync(join(workspace, file), JSON.stringify(document));
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
    const refused = startInTerminal(['apply', workspace], { env: server.env });
    await refused.waitForOutput('Apply these changes?');
    refused.type('\r');
    expect(await refused.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing was applied.') });
    const confirmed = startInTerminal(['apply', workspace], { env: server.env });
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

/** Runs statements one after the other and gives their results. */
async function onServer(url: string, statements: readonly string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const results: pg.QueryResult[] = [];
    for (const statement of statements) results.push(await client.query(statement));
    return results;
  } finally {
    await client.end();
  }
}
