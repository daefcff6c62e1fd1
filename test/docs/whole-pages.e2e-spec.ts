import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';

import { documentExample } from '../harness/document-example.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';

const root = process.cwd();
const bin = join(root, 'node_modules', '.bin');
const run = promisify(execFile);
const jwt = { JWT_SECRET: 'the secret that signs the tokens of the page', JWT_ISSUER: 'https://login.example.com' };

/** The server runs with its own Postgres and accepts the tokens of the page about workspaces; it and the command line run in a folder that is not the checkout. */
let folder: string;
let server: NightshiftProcess;
const start = () =>
  startProcess({ role: 'all', env: jwt, cwd: folder, flags: ['--data-dir', join(folder, '.nightshift')] });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-docs-'));
  cpSync(join(root, 'examples'), join(folder, 'examples'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  symlinkSync(join(bin, 'nightshift'), join(folder, 'bin', 'nightshift'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins', 'slow.ts'), documentExample('docs/operations.md', 'slow'));
  server = await start();
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The shell examples of a page in their order: name and script. */
const shellExamples = (page: string) => {
  const text = readFileSync(join(root, 'docs', page), 'utf8');
  return [...text.matchAll(/<!-- example: (\S+) -->\s+```sh\n([^]*?)\n```/g)].map(
    ([, name = '', script = '']) => [name, script] as const,
  );
};

const inShell = (script: string, env: Readonly<Record<string, string>> = {}) => {
  const path = `${join(folder, 'bin')}:${bin}:${process.env['PATH'] ?? ''}`;
  const lines = script.replaceAll('npx nightshift', 'nightshift');
  return run('bash', ['-ec', lines], { cwd: folder, env: { PATH: path, ...env } });
};

describe('docs/workspaces.md examples', () => {
  const examples = shellExamples('workspaces.md');
  const tokenOf = (name: string, claims = {}) =>
    new SignJWT({ iss: jwt.JWT_ISSUER, sub: name, email: `${name}@example.com`, email_verified: true, ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(jwt.JWT_SECRET));

  const asUsers = async (script: string) =>
    inShell(script, { ...jwt, ADA_TOKEN: await tokenOf('ada'), GRACE_TOKEN: await tokenOf('grace') });

  it('lead from an empty installation to a personal API key', async () => {
    const { stdout } = await asUsers(examples.map(([, script]) => script).join('\n'));
    for (const wanted of [
      /^signed with HS256, checked against JWT_SECRET/m,
      /^created Acme: [\w-]{36}$/m,
      /^ada@example\.com +owner/m,
      /^invited grace@example\.com as admin: [\w-]{36}$/m,
      /^Acme +admin +ada@example\.com /m,
      /^joined [\w-]{36} as admin$/m,
      /^[\w-]{36} +admin +Acme$/m,
    ])
      expect(stdout).toMatch(wanted);
    expect(stdout.match(/^nsk_[a-z0-9]{12}_[\w-]{43}$/gm)).toHaveLength(2);
  });

  it('log the reason for a refused token and never the token', async () => {
    const token = await tokenOf('eve', { iss: 'https://evil.example' });
    const failed = asUsers(`NIGHTSHIFT_TOKEN=${token} nightshift workspaces list`);
    await expect(failed).rejects.toMatchObject({ code: 3 });
    expect(server.logs().find(({ msg }) => msg === 'a token was refused')).toMatchObject({
      reason: 'claim',
      detail: 'the claim "iss" is "https://evil.example", expected "https://login.example.com"',
    });
    expect(server.output()).not.toContain(token.split('.')[2]);
  });

  it('refuse to start on a database of another secret', async () => {
    const url = `${server.url ?? ''}/graphql`;
    expect(url).toMatch(/^http/);
    const secret = 'NIGHTSHIFT_SECRET=another-secret-of-at-least-32-characters';
    await expect(asUsers(`${secret} nightshift admin users list`)).rejects.toMatchObject({
      stderr: expect.stringContaining('NIGHTSHIFT_SECRET is not the secret of this database'),
    });
    await expect(asUsers('nightshift admin secret rotate')).rejects.toMatchObject({
      stderr: expect.stringContaining('Stop it first'),
    });
    const { stdout } = await asUsers('NIGHTSHIFT_TOKEN=$ADA_TOKEN nightshift workspaces list');
    expect(stdout).toMatch(/owner +Acme/);
  });
});

describe('docs/cli.md examples', () => {
  const examples = shellExamples('cli.md');
  const scriptOf = (name: string) => new Map(examples).get(name) ?? '';
  /** Two of them read JSON with jq, which a machine may not have. */
  const hasJq = spawnSync('jq', ['--version']).status === 0;

  const cases: [string, RegExp][] = [
    ['doctor', /✓ job +completed/],
    ['pipe', /You said: "Sort this list\.\s+milk\s+bread\s+apples"/],
    ['attach', /You said: "What is due\?[^]*Total due: 42 EUR/],
    ['approve', /approved: Run calculate\n[^]*391/],
    ['notifications', /^ +\$ (?:npx )?nightshift attach [\w-]{36}\n\d+ marked as read\.\n$/],
    ['json', /1024[^]*\n[\w-]{36}\n/],
    ['workflow', /can be saved|version 1 is published/],
  ];
  it.each(cases.filter(([name]) => hasJq || !scriptOf(name).includes('jq')))(
    'example %s prints what the page shows',
    async (name, wanted) => {
      const { stdout } = await inShell(scriptOf(name));
      expect(stdout).toMatch(wanted);
    },
  );

  it('this test runs every example of docs/cli.md', () => {
    expect(examples.map(([name]) => name)).toEqual([
      'doctor',
      'pipe',
      'attach',
      'approve',
      'notifications',
      'json',
      'workflow',
    ]);
  });
});

describe('docs/openai.md examples', () => {
  const file = join(root, 'docs', 'openai.md');
  const env = () => ({
    NIGHTSHIFT_URL: server.url ?? '',
    NIGHTSHIFT_KEY: readFileSync(join(folder, '.nightshift', 'demo-api-key'), 'utf8').trim(),
  });

  const byShell = async (name: string) => (await inShell(documentExample(file, name), env())).stdout;

  const byNode = async (name: string, document = file) => {
    // The SDK is found from here, and Node runs TypeScript outside of node_modules only.
    const script = join(root, 'dist', `${name}-${process.pid}.mts`);
    writeFileSync(script, documentExample(document, name));
    try {
      return (await run(process.execPath, [script], { env: { PATH: process.env['PATH'], ...env() } })).stdout;
    } finally {
      rmSync(script);
    }
  };

  /** In the order of the page. */
  const examples: Readonly<
    Record<string, { readonly run: (name: string) => Promise<string>; readonly wanted: RegExp }>
  > = {
    agent: { run: byShell, wanted: /^\{"data":\{"createAgent":\{"agent":\{"slug":"clerk"\},"userErrors":\[\]\}\}\}$/ },
    curl: { run: byShell, wanted: /"object":"chat\.completion".*391.*"finish_reason":"stop"/ },
    stream: { run: byNode, wanted: /<tool id="1" state="start">calculate\(.*391/s },
    'ai-sdk': { run: byNode, wanted: /<tool id="1" state="start">calculate\(.*391/s },
    'run-tools': { run: byNode, wanted: /3 words/ },
    again: { run: byShell, wanted: /^(\{"id":"chatcmpl-[0-9a-f]{12}".*42.*\})\n\1$/ },
    execute: { run: byShell, wanted: /^\{"tool_call_id":"call_[0-9a-f]{24}","result":.*391/ },
  };

  it.each(Object.entries(examples))('example %s runs against the API', async (name, example) => {
    expect((await example.run(name)).trim()).toMatch(example.wanted);
  });

  it('the README example runs against the API', async () => {
    const readme = join(root, 'README.md');
    const { stdout } = await inShell(documentExample(readme, 'agent'), env());
    expect(JSON.parse(stdout)).toEqual({
      data: { createAgent: { agent: { slug: 'calculator' }, userErrors: [] } },
    });
    expect(await byNode('openai', readme)).toContain('391');
  });

  it('this test runs every example of docs/openai.md', () => {
    const names = [...readFileSync(file, 'utf8').matchAll(/<!-- example: (\S+) -->/g)].map(([, name]) => name);
    expect(Object.keys(examples)).toEqual(names);
  });
});

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

describe('OpenAPI document', () => {
  const file = 'docs/openapi.json';
  let document: OpenApi;
  let text: string;

  beforeAll(async () => {
    document = (await (await fetch(`${server.url ?? ''}/openapi.json`)).json()) as OpenApi; // what is looked at below
    text = `${JSON.stringify(document, null, 2)}\n`;
  });

  /** Every `$ref` in it. */
  function referencesIn(value: unknown): readonly string[] {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, member]) =>
      name === '$ref' && typeof member === 'string' ? [member] : referencesIn(member),
    );
  }

  function isThere(reference: string): boolean {
    const steps = reference.slice(2).split('/');
    return (
      steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document) !== undefined
    );
  }

  it('equals the committed file (else: UPDATE_DOCS=1)', () => {
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('refers only to its own components', () => {
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((reference) => !reference.startsWith('#/') || !isThere(reference))).toEqual([]);
  });

  it('names each operation once', () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
  });
});

describe('docs/operations.md recipe', () => {
  it('a call continues after SIGKILL, and the request to the model is not repeated', async () => {
    const { stdout } = await inShell(documentExample('docs/operations.md', 'kill'));
    const job = stdout.trim();
    expect(await server.exited).toMatchObject({ signal: 'SIGKILL' });
    server = await start();
    const followed = await inShell(documentExample('docs/operations.md', 'attach'), { job });
    const events = followed.stdout.slice(followed.stdout.indexOf('job-queued'));
    expect(events.match(/round-started +round 1/g)).toHaveLength(1);
    expect(events).toMatch(
      /round 1[^]*job-started +claim 2[^]*slow\(seconds: 10\) · completed · waited 10 s[^]*completed/,
    );
  });
});
