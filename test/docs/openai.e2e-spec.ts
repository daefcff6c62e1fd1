import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { documentExample } from '../harness/document-example.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';

const root = process.cwd();
const file = join(root, 'docs', 'openai.md');
const names = [...readFileSync(file, 'utf8').matchAll(/<!-- example: (\S+) -->/g)].map(([, name]) => name);

/** In the order of the page. */
describe('docs/openai.md examples', () => {
  let folder: string;
  let server: NightshiftProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-openai-docs-'));
    server = await startProcess({ role: 'all', flags: ['--data-dir', join(folder, 'data')] });
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const env = () => ({
    PATH: process.env['PATH'],
    NIGHTSHIFT_URL: server.url ?? '',
    NIGHTSHIFT_KEY: readFileSync(join(folder, 'data', 'demo-api-key'), 'utf8').trim(),
  });

  const inShell = async (name: string) =>
    (await promisify(execFile)('bash', ['-ec', documentExample(file, name)], { env: env() })).stdout;

  const inNode = async (name: string, document = file) => {
    // The SDK is found from here, and Node runs TypeScript outside of node_modules only.
    const script = join(root, 'dist', `${name}-${process.pid}.mts`);
    writeFileSync(script, documentExample(document, name));
    try {
      return (await promisify(execFile)(process.execPath, [script], { env: env() })).stdout;
    } finally {
      rmSync(script);
    }
  };

  const examples: Readonly<
    Record<string, { readonly run: (name: string) => Promise<string>; readonly wanted: RegExp }>
  > = {
    agent: { run: inShell, wanted: /^\{"data":\{"createAgent":\{"agent":\{"slug":"clerk"\},"userErrors":\[\]\}\}\}$/ },
    curl: { run: inShell, wanted: /"object":"chat\.completion".*391.*"finish_reason":"stop"/ },
    stream: { run: inNode, wanted: /<tool id="1" state="start">calculate\(.*391/s },
    'ai-sdk': { run: inNode, wanted: /<tool id="1" state="start">calculate\(.*391/s },
    'run-tools': { run: inNode, wanted: /3 words/ },
    again: { run: inShell, wanted: /^(\{"id":"chatcmpl-[0-9a-f]{12}".*42.*\})\n\1$/ },
    execute: { run: inShell, wanted: /^\{"tool_call_id":"call_[0-9a-f]{24}","result":.*391/ },
  };

  it.each(Object.entries(examples))('example %s runs against the API', async (name, { run, wanted }) => {
    expect((await run(name)).trim()).toMatch(wanted);
  });

  it('the README example runs against the API', async () => {
    expect(await inNode('openai', join(root, 'README.md'))).toContain('391');
  });

  it('this test runs every example of the page', () => {
    expect(Object.keys(examples)).toEqual(names);
  });
});
