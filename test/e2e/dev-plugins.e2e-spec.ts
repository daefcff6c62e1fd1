import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

const root = process.cwd();
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

interface Ready {
  readonly plugins?: readonly { readonly name: string; readonly version: string; readonly hash: string }[];
}

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
  await eventually('the tool runs', () => (existsSync(join(checkout, 'started')) ? true : undefined));
  return (data as { startChat: { jobId: string } }).startChat.jobId; // by the query
}

describe('npm run dev', () => {
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
      }; // by the query
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
