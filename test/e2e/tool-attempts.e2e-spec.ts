import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type TestServer } from '@nightshift/plugin/testing';

import { eventually } from '../harness/eventually.js';

/** Each tool logs its attempt, and returns once a file exists. */
const plugin = (folder: string) => `import { appendFileSync, existsSync } from 'node:fs';
import { definePlugin, defineTool } from '@nightshift/plugin';

const folder = ${JSON.stringify(folder)};
const tool = (name, isolation) => defineTool({
  name, description: name, effect: 'idempotent', isolation, input: { type: 'object' },
  async execute(args, { attempt, idempotencyKey }) {
    appendFileSync(folder + '/' + name + '.log', attempt + ' ' + idempotencyKey + '\\n');
    while (!existsSync(folder + '/' + name + '.go')) await new Promise((resolve) => setTimeout(resolve, 20));
    return 'attempt ' + attempt;
  },
});
export default definePlugin({ name: 'acme', version: '1', tools: [tool('plain', 'worker'), tool('isolated', 'queue')] });
`;

let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-tool-attempts-'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.ts'), plugin(folder));
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('attempt in the context of a tool', () => {
  it.each(['plain', 'isolated'])('counts the start that a crash has ended, for the tool "%s"', async (name) => {
    server.model.reply([{ name, arguments: {} }], 'done');
    const job = await server.start({ message: 'Go', tools: [name] });
    await eventually('the tool runs', () => (existsSync(join(folder, `${name}.log`)) ? true : undefined));
    await server.kill();
    appendFileSync(join(folder, `${name}.go`), '');
    await server.restart();
    const ended = await server.finished(job);
    expect(ended.status).toBe('completed');
    expect(readFileSync(join(folder, `${name}.log`), 'utf8')).toBe(`1 ${job}:1:1\n2 ${job}:1:1\n`);
    expect(JSON.stringify(server.model.requests.at(-1)?.messages)).toContain('attempt 2');
  });
});
