import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestServer, type TestServer } from '@nightshift/plugin/testing';

import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';

const plugin = (file: string) => `import { appendFileSync } from 'node:fs';
import { defineHook, definePlugin, defineTool } from '@nightshift/plugin';

const note = (line) => appendFileSync(${JSON.stringify(file)}, JSON.stringify(line) + '\\n');
const seen = (on) => defineHook({
  on, name: 'seen-' + on,
  run: ({ jobId, interrupt, job, notification }) => note({ on, jobId, row: interrupt ?? job ?? notification }),
});
const flaky = defineHook({
  on: 'onJobFinished', name: 'flaky', match: 'job.reason == "stop"',
  run({ jobId }, { attempt, idempotencyKey }) {
    note({ on: 'flaky', jobId, attempt, idempotencyKey });
    if (attempt === 1) throw new Error('down');
  },
});
const hangs = defineHook({
  on: 'onJobFinished', name: 'hangs', timeoutMs: 60_000,
  run({ jobId }, { attempt, idempotencyKey }) {
    note({ on: 'hangs', jobId, attempt, idempotencyKey });
    return attempt === 1 ? new Promise(() => undefined) : undefined;
  },
});
const pay = defineTool({ name: 'pay', description: 'Pays.', input: { type: 'object' }, execute: () => 'paid' });
const asks = defineHook({ on: 'beforeToolCall', name: 'asks', run: () => ({ requireApproval: 'a test' }) });
export default definePlugin({
  name: 'acme', version: '1', tools: [pay],
  hooks: [...['onInterrupt', 'onJobFinished', 'onNotification'].map(seen), flaky, hangs, asks],
});
`;

let folder: string;
let file: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-action-hooks-'));
  file = join(folder, 'seen.txt');
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.ts'), plugin(file));
  writeFileSync(join(folder, 'plugins/alerts.ts'), documentExample('docs/plugins.md', 'action'));
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder });
});
beforeEach(() => {
  writeFileSync(file, '');
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Line {
  readonly on: string;
  readonly jobId: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly row: Readonly<Record<string, unknown>>;
}

/** What the hook has recorded about the job, as soon as there are `count` lines. */
function recorded(on: string, jobId: string, count: number): Promise<readonly Line[]> {
  return eventually(
    `${on} has run ${count} times`,
    () => {
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      const found = lines
        .map((line) => JSON.parse(line) as Line)
        .filter((line) => line.on === on && line.jobId === jobId);
      return found.length >= count ? found : undefined;
    },
    280_000,
  );
}

describe('server with actions', () => {
  it('shows requests and the ends of jobs to hooks', async () => {
    server.model.reply([{ name: 'pay', arguments: {} }], 'done');
    const jobId = await server.start({ message: 'Pay', tools: ['pay'] });
    const [opened] = await recorded('onInterrupt', jobId, 1);
    const interrupt = opened?.row ?? {};
    expect(interrupt).toMatchObject({ kind: 'tool_approval', status: 'open', tool: 'pay', rootJobId: jobId });
    const approve = `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`;
    const { argumentsHash } = interrupt['request'] as { readonly argumentsHash: string }; // docs/interrupts.md
    await server.graphql(approve, { input: { id: interrupt['id'], decision: 'APPROVE', argumentsHash } });
    expect((await server.finished(jobId)).status).toBe('completed');
    const [end] = await recorded('onJobFinished', jobId, 1);
    expect(end?.row).toMatchObject({ status: 'completed', toolCalls: 1, rounds: 2, parentJobId: null, error: null });
  });

  it('repeats a failed action with the same key, and does not delay the job', async () => {
    const { jobId, status } = await server.run({ message: 'Hello' });
    expect(status).toBe('completed');
    const runs = await recorded('flaky', jobId, 2);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(runs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(server.logs()).toContainEqual(expect.objectContaining({ msg: 'a hook failed', hook: 'flaky', jobId }));
  });

  it('runs an action again if the process was killed while it ran', async () => {
    const { jobId } = await server.run({ message: 'Hello' });
    await recorded('hangs', jobId, 1);
    await server.kill();
    await server.restart();
    const runs = await recorded('hangs', jobId, 2);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(runs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });
});
