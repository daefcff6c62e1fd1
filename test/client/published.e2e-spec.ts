import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

/** Packages of TypeScript 7, 6 and 5.9. */
const compilers = ['typescript-7', 'typescript', 'typescript-5.9'];
const run = promisify(execFile);
const root = process.cwd();
const source = join(root, 'packages', 'client');

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let member: TestMember;
/** A project outside this repository, with the package as it is published. */
let project: string;
let published: string;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  member = (await api.people.workspaceOf('published')).owner;
  project = mkdtempSync(join(tmpdir(), 'nightshift-client-'));
  published = join(project, 'node_modules', '@nightshift', 'client');
  await install();
});
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await api.close();
  await model.close();
  await database.close();
});

/** Builds the package and puts its published files, and what it depends on, where npm would. */
async function install(): Promise<void> {
  const copy = join(project, 'package');
  mkdirSync(copy);
  for (const name of ['package.json', 'README.md', 'src'])
    cpSync(join(source, name), join(copy, name), { recursive: true });
  const tsc = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc');
  const outDir = ['--outDir', join(copy, 'dist'), '--incremental', 'false', '--tsBuildInfoFile', 'null'];
  await run(process.execPath, [tsc, '-p', join(source, 'tsconfig.build.json'), ...outDir]);
  const { stdout } = await run('npm', ['pack', '--json', '--dry-run'], { cwd: copy });
  const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }]; // npm's own format
  for (const { path } of packed.files) {
    mkdirSync(dirname(join(published, path)), { recursive: true });
    cpSync(join(copy, path), join(published, path));
  }
  rmSync(copy, { recursive: true });
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'peerDependencies',
    Record<string, string>
  >; // it has both
  for (const name of [...Object.keys({ ...dependencies, ...peerDependencies }), 'ws', 'zod'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
}

const inProject = async (node: string, script: string, { key } = member) => {
  const file = join(project, 'example.mjs');
  writeFileSync(file, script);
  const env = { PATH: process.env['PATH'], NIGHTSHIFT_URL: api.url, NIGHTSHIFT_KEY: key };
  return (await run(node, [file], { cwd: project, env })).stdout;
};

const readme = (name: string) => documentExample(join(source, 'README.md'), name);

describe('published client package', () => {
  it('contains every file of its exports and no tests', () => {
    const files = readdirSync(published, { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index.d.ts', 'src/index.ts']));
    expect(files.filter((file) => /spec|tsbuildinfo/.test(file))).toEqual([]);
  });

  it.each([
    ['README.md', 'first', 'calculate {"expression":"17 * 23"}\n391\nCOMPLETED\n'],
    ['README.md', 'approvals', 'calculate: expression: "17 * 23"\n391\n'],
    ['docs/clients.md', 'package', '391\n'],
  ])('runs the example of %s: %s', async (file, name, output) => {
    const call = { id: 'c1', name: 'calculate', arguments: '{"expression":"17 * 23"}' };
    model.enqueue(toolCallReply([call]), textReply(['391']));
    expect(await inProject(process.execPath, file === 'README.md' ? readme(name) : documentExample(file, name))).toBe(
      output,
    );
    model.assertDone();
  });

  it('runs the example of a tool and of an operation', async () => {
    const call = { id: 'c1', name: 'count_words', arguments: '{"text":"to be or not to be"}' };
    model.enqueue(toolCallReply([call]), textReply(['Six.']));
    expect(await inProject(process.execPath, readme('tools'))).toBe('Six.\n');
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('{\\"words\\":6}');
    expect(await inProject(process.execPath, readme('operations'))).toContain('calculate');
  });

  it('runs the example of files', async () => {
    model.enqueue(textReply(['42 EUR']));
    expect(await inProject(process.execPath, readme('files'))).toBe(
      'invoice.txt has the type text/plain and 17 bytes\n42 EUR\nTotal due: 42 EUR\n',
    );
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('Total due: 42 EUR');
  });

  it.each(compilers)('checks and runs the typed example with %s', async (version) => {
    const [file, script] = [join(project, 'typed-tool.ts'), readme('typed-tool')];
    writeFileSync(file, script);
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom'];
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')];
    const tsc = join(root, 'node_modules', version, 'bin', 'tsc');
    const checked = await run(process.execPath, [tsc, ...options, ...types, file], { cwd: project }).catch(
      (error: unknown) => error as { stdout: string }, // of execFile
    );
    expect(checked.stdout).toBe('');
    const call = { id: 'c1', name: 'count_words', arguments: '{"text":"to be or not to be"}' };
    model.enqueue(toolCallReply([call]), textReply(['Six.']));
    expect(await inProject(process.execPath, readFileSync(join(project, 'typed-tool.js'), 'utf8'))).toBe('Six.\n');
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('{\\"words\\":6}');
  });

  it('runs the example of notifications', async () => {
    // Another user, because a job of an earlier test whose client followed late may have notified its requester.
    const { owner } = await api.people.workspaceOf('notified');
    model.enqueue(textReply(['1024']));
    expect(await inProject(process.execPath, readme('notifications'), owner)).toBe(
      'JOB_COMPLETED: What is 2 ^ 10?\n0 are unread\n',
    );
  });

  it('runs on the Node version of npm, with a WebSocket of the package ws', async () => {
    model.enqueue(textReply(['Hello ', 'from afar']));
    const node = process.env['npm_node_execpath'] ?? 'node';
    expect(await inProject(node, readme('web-socket'))).toBe('Hello from afar\n');
  });

  it('rejects every example without starting a job on a Node without WebSocket', async () => {
    const count = async () => {
      const { rows } = await database.postgres.workerPool.query<{ count: string }>('SELECT count(*) FROM job');
      return rows[0]?.count;
    };
    const before = await count();
    for (const name of ['first', 'tools', 'approvals']) {
      const failed = await inProject(process.execPath, `delete globalThis.WebSocket;\n${readme(name)}`).catch(
        (error: unknown) => error as { readonly stderr: string }, // of execFile
      );
      expect(failed).toMatchObject({
        stderr: expect.stringMatching(/This runtime has no WebSocket.*`webSocket`.*Node 22/),
      });
    }
    expect(await count()).toBe(before);
  });

  it.each(compilers)('type-checks in a strict project with %s', async (version) => {
    const script = `import { clientTool, createNightshift, type FromJsonSchema, type JobEventOf, NightshiftError } from '@nightshift/client';
      import { z } from 'zod';
      import { ToolsDocument } from '@nightshift/client/operations';
      const nightshift = createNightshift({ url: 'http://127.0.0.1', getToken: () => 'token' });
      const job = await nightshift.startChat({
        message: 'Hi',
        tools: { count: { run: async ({ text }: { text: string }, { signal }) => (signal.aborted ? 0 : text.length) } },
        onApproval: ({ tool, request }) => (tool === 'calculate' ? 'approve' : { deny: request.argumentsPreview }),
        onQuestion: ({ request }) => ({ action: 'SUBMIT', data: request.context?.input ?? request.prompt }),
      });
      await nightshift.retryJob(job.id, { onApproval: async () => 'deny' as const });
      ${version === 'typescript' ? "await nightshift.retryJob(job.id, { onApproval: async () => 'deny' });" : ''}
      // @ts-expect-error: a typing mistake is an error
      await nightshift.retryJob(job.id, { onApproval: async () => 'aprove' });
      for await (const event of job.events({ after: 3 }))
        if (event.__typename === 'TextDeltaEvent') { const delta: JobEventOf<'TextDeltaEvent'> = event; delta.text.trim(); }
      const { tools } = await nightshift.query(ToolsDocument, {});
      export const names: string[] = tools.map(({ name }) => name);
      const ofSchema = clientTool({
        parameters: {
          type: 'object',
          properties: { text: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } }, size: { enum: ['S', 'M'] } },
          required: ['text', 'size'],
        },
        run: ({ text, tags, size }) => {
          const sure: string = text;
          const some: string[] | undefined = tags;
          const one: 'S' | 'M' = size;
          return [sure, some, one];
        },
      });
      const ofZod = clientTool({
        parameters: z.object({ count: z.number(), note: z.string().optional() }),
        run: ({ count, note }) => count.toFixed() + (note?.length ?? 0),
      });
      // @ts-expect-error a number is not a string
      clientTool({ parameters: z.object({ count: z.number() }), run: ({ count }) => count.trim() });
      // @ts-expect-error not in the schema
      clientTool({ parameters: { type: 'object', properties: { a: { type: 'string' } } }, run: ({ b }) => b });
      void nightshift.startChat({ message: 'Hi', tools: { ofSchema, ofZod, plain: () => 1 } });
      export const nullable: FromJsonSchema<{ readonly type: readonly ['string', 'null'] }> = null;
      const waiting = await job.text({ onWaiting: ({ title, decidableBy }) => void [title.trim(), decidableBy] });
      waiting.trim();
      // @ts-expect-error one of the two
      createNightshift({ url: 'http://127.0.0.1' });
      // @ts-expect-error no such member
      void nightshift.startChat({ mesage: 'Hi' });
      // @ts-expect-error no such variable
      void nightshift.query(ToolsDocument, { first: 1 });
      export const isLater = (error: unknown) => error instanceof NightshiftError && error.retryable;`;
    writeFileSync(join(project, 'types.mts'), script);
    const tsc = join(root, 'node_modules', version, 'bin', 'tsc');
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
    const lib = ['es2023', 'dom', 'dom.asynciterable'];
    const compilerOptions = { ...strict, module: 'nodenext', target: 'es2022', lib, types: [] };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.mts'] }));
    const { stdout } = await run(process.execPath, [tsc, '-p', project]).catch(
      (error: unknown) => error as { stdout: string },
    ); // of execFile
    expect(stdout).toBe('');
  });

  (chromiumPath === undefined ? it.skip : it)('runs in a browser as it is', async () => {
    model.enqueue(
      toolCallReply([{ id: 'c1', name: 'title', arguments: '{}' }]),
      textReply(['Hello ', 'from the page']),
    );
    const browser = await openBrowser();
    // Chromium takes a page that a test made up for one of the internet, which has to ask before it may come to this machine.
    const page = await browser.newPage({ permissions: ['local-network-access'] });
    const imports = {
      '@nightshift/client': '/packages/@nightshift/client/dist/index.js',
      'graphql-ws/client': '/packages/graphql-ws/dist/client.js',
    };
    const importMap = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
    await page.route(`${api.url}/page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<title>A page</title>${importMap}` }),
    );
    await page.route(`${api.url}/packages/**`, (route) =>
      route.fulfill({
        path: join(project, 'node_modules', new URL(route.request().url()).pathname.slice('/packages/'.length)),
      }),
    );
    await page.goto(`${api.url}/page`);
    const text = await page.evaluate(`(async () => {
      const { createNightshift } = await import('@nightshift/client');
      const nightshift = createNightshift({ url: location.origin, token: '${member.key}' });
      const job = await nightshift.startChat({ message: 'Hi', tools: { title: () => document.title } });
      return job.text();
    })()`);
    expect(text).toBe('Hello from the page');
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('A page');

    model.enqueue(textReply(['391']));
    await page.route(`${api.url}/session/token`, (route) => route.fulfill({ body: member.key }));
    await page.addScriptTag({ type: 'module', content: readme('get-token') });
    await page.getByText('391', { exact: true }).waitFor();
    await browser.close();
  });
});
