import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';

const run = promisify(execFile);
const root = process.cwd();

/** The code block after `<!-- example: name -->`. */
function exampleOf(file: string, name: string): string {
  const text = readFileSync(join(root, file), 'utf8');
  const found = new RegExp(`<!-- example: ${name} -->\\s+\`\`\`\\w+\\n([^]*?)\\n\`\`\``).exec(text);
  if (found?.[1] === undefined) throw new Error(`${file} has no example ${name}`);
  return found[1];
}

describe('the examples of the documents', () => {
  let started: NightshiftProcess;
  let folder: string;
  let key: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-docs-'));
    started = await startProcess({
      role: 'all',
      flags: ['--data-dir', join(folder, 'data')],
      env: { ALLOW_PRIVATE_TOOL_URLS: 'true' }, // the examples ask this very server
    });
    key = readFileSync(join(folder, 'data', 'demo-api-key'), 'utf8').trim();
  }, 90_000);

  afterAll(async () => {
    await started.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const here = (text: string) =>
    text
      .replaceAll('127.0.0.1:4000', new URL(started.url ?? '').host)
      .replaceAll('.nightshift/demo-api-key', join(folder, 'data', 'demo-api-key'));

  const inShell = async (script: string, env: Record<string, string> = {}) => {
    const surroundings = { PATH: process.env['PATH'], NIGHTSHIFT_KEY: key, ...env };
    return (await run('bash', ['-c', here(script)], { cwd: root, env: surroundings })).stdout;
  };

  it('start a job over GraphQL and follow it from any number', async () => {
    const reply = JSON.parse(await inShell(exampleOf('README.md', 'start-job'))) as {
      data: { startChat: { jobId: string } }; // what the example asks for
    };
    const { jobId } = reply.data.startChat;
    const cache = join(root, 'node_modules', '.cache'); // from here graphql-ws is found
    mkdirSync(cache, { recursive: true });
    const file = join(cache, `follow-${process.pid}.mjs`);
    writeFileSync(file, here(exampleOf('README.md', 'follow-job')));
    const follow = async (after: string) => {
      const env = { ...process.env, NIGHTSHIFT_KEY: key };
      const { stdout } = await run(process.execPath, [file, jobId, after], { cwd: root, env });
      const lines = stdout.trim().split('\n');
      return lines.map((line) => JSON.parse(line) as { __typename: string; seq: number }); // as the example prints them
    };
    const all = await follow('0');
    const rest = await follow('5');
    rmSync(file);

    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    expect(all.at(-1)).toMatchObject({ __typename: 'JobFinishedEvent', status: 'COMPLETED' });
    expect(rest.map(({ seq }) => seq)).toEqual(all.slice(5).map(({ seq }) => seq));
  }, 60_000);

  it('run a tool of the client', async () => {
    const file = join(folder, 'serve-client-tools.mjs');
    writeFileSync(file, here(exampleOf('docs/client-tools.md', 'serve-client-tools')));
    const env = { ...process.env, NIGHTSHIFT_KEY: key };
    expect((await run(process.execPath, [file], { cwd: root, env })).stdout).toContain('6 words');
  }, 60_000);

  it('define an HTTP tool, try it out and keep it', async () => {
    const file = join(folder, 'http-tool.mjs');
    writeFileSync(file, here(exampleOf('docs/tools.md', 'http-tool')));
    const env = { ...process.env, NIGHTSHIFT_KEY: key };
    const { stdout } = await run(process.execPath, [file], { cwd: root, env });
    expect(stdout).toMatch(/status: 200,[^]*result: '(queued|running|completed)'[^]*name: 'job_status',\s+version: 1/);
  }, 60_000);

  it('write a tool in code', async () => {
    const file = join(root, 'dist', `example-tool-${process.pid}.mjs`); // from here `#tools` is found
    const call = 'console.log(await rollDice.handler({ sides: 2 }, { signal: new AbortController().signal }));';
    writeFileSync(file, `${exampleOf('docs/tools.md', 'code-tool')}\n${call}\n`);
    const { stdout } = await run(process.execPath, [file], { cwd: root });
    rmSync(file);
    expect(stdout).toMatch(/^[12]\n$/);
  }, 60_000);

  it('start a job over REST and follow it', async () => {
    const { jobId } = JSON.parse(await inShell(exampleOf('docs/clients.md', 'rest-start'))) as { jobId: string };
    const output = await inShell(exampleOf('docs/clients.md', 'rest-follow'), { JOB_ID: jobId });

    expect(output).toContain('event: job-finished');
    expect(output).toContain('1024');
    expect(output).toContain('already_terminal');
  }, 60_000);

  it('let a model ask a person, and answer it', async () => {
    const example = (name: string, env: Record<string, string> = {}) =>
      inShell(exampleOf('docs/interrupts.md', name), env);
    const reply = JSON.parse(await example('ask')) as { data: { startChat: { jobId: string } } };
    const { jobId: JOB_ID } = reply.data.startChat;
    const REQUEST_ID = await eventually('the question is open', async () => {
      const { interrupts } = JSON.parse(await example('inbox', { JOB_ID })) as { interrupts: { id: string }[] };
      return interrupts[0]?.id;
    });
    expect(JSON.parse(await example('answer', { REQUEST_ID }))).toMatchObject({
      status: 'resolved',
      outcome: 'submit',
    });
  }, 60_000);

  it('look through the calls of all jobs', async () => {
    for (const name of ['list', 'stats']) {
      const query = exampleOf('docs/tool-call-history.md', name);
      const response = await fetch(`${started.url ?? ''}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      expect(await response.json()).not.toHaveProperty('errors');
    }
    const script = exampleOf('docs/tool-call-history.md', 'export').replaceAll(
      'calls.ndjson',
      join(folder, 'calls.ndjson'),
    );
    expect(await inShell(script)).toBe('{"type":"end","count":0}\n');
  }, 60_000);
});
