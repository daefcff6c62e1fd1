import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually, untilWritten } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

const run = promisify(execFile);
const root = process.cwd();
/** The Node of npm, which may be older than that of the product. */
const oldNode = process.env['npm_node_execpath'] ?? process.execPath;
const packages = ['nightshift', '@nightshift/client', '@nightshift/plugin'];
const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
/** How npm reaches its registry here. */
const network = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(?:NODE_EXTRA_CA_CERTS|(?:https?|no)_proxy|npm_config_registry)$/i.test(name),
  ),
);

/** As npm names it. */
const tarballOf = (name: string) => `${name.replace('@', '').replace('/', '-')}-0.1.0.tgz`;

/** A folder of a user in which npm has installed the packed product, without install scripts. */
let folder: string;
let modules: string;

const npm = (cwd: string, ...words: readonly string[]) => run('npm', words, { cwd, env: environment });
const nightshift = (...words: readonly string[]) =>
  run(oldNode, [join(modules, '.bin', 'nightshift'), ...words], { cwd: folder, env: environment });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-init-'));
  modules = join(folder, 'node_modules');
  await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), join(folder, 'tarballs')], { cwd: root });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const files = packages.map((name) => `./tarballs/${tarballOf(name)}`);
  await run('npm', ['install', ...options, ...files], { cwd: folder, env: { ...environment, ...network } });
  // A project depends on the compiler and on the types of Node; this repository has both.
  symlinkSync(join(root, 'node_modules', 'typescript-7'), join(modules, 'typescript'));
  symlinkSync('../typescript/bin/tsc', join(modules, '.bin', 'tsc'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('packed product', () => {
  it('contains compiled code, migrations and pages, and no sources, tests or source maps', () => {
    const files = readdirSync(join(modules, 'nightshift'), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'dist/apps/main.js',
        'dist/libs/platform/src/prisma/generated/prisma/client.js',
        'docs/plugins.md',
        'prisma/migrations/migration_lock.toml',
      ]),
    );
    expect(files.filter((file) => /\.ts$|\.map$|spec|^test|^dist\/(?:test|bench)|node_modules/.test(file))).toEqual([]);
  });

  it('serves the API and its pages under the Node that npm installed, and stops on SIGTERM', async () => {
    const flags = ['serve', '--no-sample', '--port', '0', '--data-dir', join(folder, 'data')];
    const command = join(modules, '.bin', 'nightshift');
    const env = { ...environment, LOG_LEVEL: 'info' };
    const server = spawn(oldNode, [command, ...flags], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (chunk: Buffer) => (output += String(chunk)));
    const ended = new Promise<number | null>((resolve) => server.once('close', resolve));
    const url = await eventually('the server is ready', () => {
      if (server.exitCode !== null) throw new Error(output);
      return /"url":"(http:[^"]+)".*"msg":"ready"/.exec(output)?.[1];
    });
    for (const path of ['/readyz', '/docs', '/explorer/graphiql.js'])
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
    server.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(output).toMatch(/Stopped\.\n$/);
  });
});

describe('nightshift init', () => {
  it('writes a project whose types are correct and whose test passes on the packed server', async () => {
    await npm(folder, 'exec', '--', 'nightshift', 'init', 'my-plugin', '--tool', '--hook', '--node');
    const project = join(folder, 'my-plugin');
    await npm(project, 'run', 'types');
    const { stdout } = await npm(project, 'test');
    expect(stdout).toContain('✔ the server loads the plugin');
    expect(stdout).toContain('✔ a model calls the tool');
    expect(stdout).toContain('✔ the hook denies a call of the built-in tool calculate');
    expect(stdout).toContain('✔ a workflow runs the node');
    expect(stdout).toContain('fail 0');
  });

  it.each(['tool', 'hook', 'node'])(
    'writes a project with only a %s, whose types are correct and whose test passes',
    async (flag) => {
      const project = `only-a-${flag}`;
      await nightshift('init', project, `--${flag}`);
      await npm(join(folder, project), 'run', 'types');
      const { stdout } = await npm(join(folder, project), 'test');
      expect(stdout).toContain('pass 2');
      expect(stdout).toContain('fail 0');
    },
  );

  it('writes the tarballs of the installation as dependencies of a new project', async () => {
    await nightshift('init', 'of-files');
    const manifest = JSON.parse(readFileSync(join(folder, 'of-files', 'package.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({
      dependencies: { '@nightshift/plugin': 'file:../tarballs/nightshift-plugin-0.1.0.tgz' },
      devDependencies: {
        nightshift: 'file:../tarballs/nightshift-0.1.0.tgz',
        '@nightshift/client': 'file:../tarballs/nightshift-client-0.1.0.tgz',
      },
    });
  });

  it('changes no folder that has a project', async () => {
    await nightshift('init', 'taken');
    await expect(nightshift('init', 'taken')).rejects.toMatchObject({ code: 2 });
  });
});

describe('nightshift plugins check', () => {
  it('prints what a plugin offers', async () => {
    await nightshift('init', 'good', '--tool', '--node');
    const { stdout } = await nightshift('plugins', 'check', 'good');
    expect(stdout).toMatch(
      /^good 0\.1\.0 [0-9a-f]{64}\n {2}tools: shout\n {2}hooks: none\n {2}nodes: good\.count_words\n$/,
    );
  });

  it('prints the file and the reason for a plugin that a server would refuse, and ends with exit code 2', async () => {
    writeFileSync(join(folder, 'bad.mjs'), "throw new Error('no license');\n");
    const failed = nightshift('plugins', 'check', 'bad.mjs');
    await expect(failed).rejects.toMatchObject({
      code: 2,
      stderr: `The plugin ${join(folder, 'bad.mjs')} cannot be loaded: no license (${join(folder, 'bad.mjs')}:1).\n`,
    });
  });
});

interface Ready {
  readonly plugins?: readonly { readonly name: string; readonly version: string; readonly hash: string }[];
}

describe('npm run dev', () => {
  const plugin = (folder: string, version: string) => `import { appendFileSync, existsSync } from 'node:fs';
import { definePlugin, defineTool } from '@nightshift/plugin';
import { answer } from './lib/answer.ts';
const tool = defineTool({
  name: 'ask', description: 'Asks.', input: { type: 'object' },
  async execute() {
    appendFileSync(${JSON.stringify(join(folder, 'started'))}, answer);
    while (!existsSync(${JSON.stringify(join(folder, 'release'))})) await new Promise((resolve) => setTimeout(resolve, 20));
    return answer;
  },
});
export default definePlugin({ name: 'acme', version: '${version}', tools: [tool] });
`;
  const answer = (text: string) => `export const answer = ${JSON.stringify(text)};\n`;

  let checkout: string;
  let url: string;
  let model: ScriptedModel;
  let dev: ChildProcess;
  let ended: Promise<number | null>;
  let output = '';

  const write = (name: string, text: string) => {
    writeFileSync(join(checkout, 'plugins', name), text);
  };

  /** A checkout that shares its sources and packages with this one, and has a compiled tree, plugins and data of its own. */
  beforeAll(async () => {
    checkout = mkdtempSync(join(tmpdir(), 'nightshift-dev-'));
    for (const name of readdirSync(root))
      if (!['dist', '.git', '.nightshift', '.env', 'plugins'].includes(name))
        symlinkSync(join(root, name), join(checkout, name));
    mkdirSync(join(checkout, 'plugins', 'lib'), { recursive: true });
    write('acme.ts', plugin(checkout, '1'));
    write('lib/answer.ts', answer('first'));
    model = await ScriptedModel.start();
    model.answer(({ json }) => {
      const last = (json['messages'] as readonly { readonly role: string; readonly content: unknown }[]).at(-1); // OpenAI's API
      const asks = last?.role === 'user' && last.content === 'Ask';
      return asks ? toolCallReply([{ id: 'call_1', name: 'ask', arguments: '{}' }]) : textReply(['done']);
    });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const env = {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: port, DATA_DIR: join(checkout, 'data') },
      ...{ MODEL_BASE_URL: model.url, LOG_LEVEL: 'warn' },
    };
    const node = join(root, 'node_modules', '.bin', 'node');
    dev = spawn(node, ['scripts/dev.mjs'], { cwd: checkout, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [dev.stdout, dev.stderr]) stream?.on('data', (chunk: Buffer) => (output += String(chunk)));
    ended = new Promise((resolve) => dev.once('close', resolve));
  });
  afterAll(async () => {
    dev.kill('SIGTERM');
    await ended;
    await model.close();
    rmSync(checkout, { recursive: true, force: true });
  });

  /** The hash of the plugin in the server that answers, once it has this version and another hash than `other`. */
  function hashOf(version: string, other = ''): Promise<string> {
    return eventually(`the server has version ${version}`, async () => {
      if (dev.exitCode !== null) throw new Error(`npm run dev has ended:\n${output}`);
      const response = await fetch(`${url}/readyz`).catch(() => undefined);
      const ready = (await response?.json().catch(() => undefined)) as Ready | undefined; // docs/plugins.md
      const found = ready?.plugins?.find(({ name }) => name === 'acme');
      return found?.version === version && found.hash !== other ? found.hash : undefined;
    });
  }

  async function graphql(query: string, variables: object): Promise<unknown> {
    const key = readFileSync(join(checkout, 'data', 'demo-api-key'), 'utf8').trim();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query, variables }),
    });
    const { data } = (await response.json()) as { readonly data: unknown }; // GraphQL over HTTP
    return data;
  }

  /** Starts a chat whose model calls the tool; resolves when the tool runs. */
  async function startCall(): Promise<string> {
    const start = 'mutation ($input: StartChatInput!) { startChat(input: $input) { jobId } }';
    const data = await graphql(start, { input: { message: 'Ask', tools: ['ask'] } });
    await untilWritten(join(checkout, 'started'));
    return (data as { startChat: { jobId: string } }).startChat.jobId; // the query selects this field
  }

  it('restarts the server when a module of a plugin changes; a call that runs ends with the old code', async () => {
    const first = await hashOf('1');
    const jobId = await startCall();
    write('lib/answer.ts', answer('second'));
    await eventually('the change is noticed', () => (output.includes('changed: restarting') ? true : undefined));
    writeFileSync(join(checkout, 'release'), '');
    expect(await hashOf('1', first)).not.toBe(first);
    await eventually('the job has completed', async () => {
      const found = (await graphql('query ($id: ID!) { job(id: $id) { status } }', { id: jobId })) as {
        readonly job: { readonly status: string };
      }; // the query selects this field
      return found.job.status === 'COMPLETED' ? true : undefined;
    });
    expect(model.requests.at(-1)?.json['messages']).toContainEqual(
      expect.objectContaining({ role: 'tool', content: 'first' }),
    );
    expect(readFileSync(join(checkout, 'started'), 'utf8')).toBe('first');
  });

  it('restarts the server when a plugin that could not be loaded is corrected', async () => {
    write('acme.ts', "throw new Error('no license');\n");
    await eventually('the server refuses the plugin', () => (output.includes('no license') ? true : undefined));
    write('acme.ts', plugin(checkout, '3'));
    await hashOf('3');
  });
});
