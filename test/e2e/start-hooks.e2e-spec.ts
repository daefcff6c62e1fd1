import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type FinishedJob, type TestServer } from '@nightshift/plugin/testing';

import { eventually } from '../harness/eventually.js';

const plugin = `import { defineHook, definePlugin } from '@nightshift/plugin';

const start = defineHook({
  on: 'beforeJobStart', name: 'start', failure: 'closed',
  run: ({ input }) => {
    const text = JSON.stringify(input.messages ?? input.prompt);
    if (text.includes('forbidden')) return { deny: 'Not on Sundays.' };
    if (text.includes('throw')) throw new Error('broken');
  },
});
const labels = (name, priority, given) => defineHook({
  on: 'beforeJobStart', name, priority, failure: 'closed', match: 'has(labels.team)', run: () => ({ labels: given }),
});
const many = defineHook({
  on: 'beforeJobStart', name: 'many', match: '"many" in labels',
  run: () => ({ labels: Object.fromEntries(Array.from({ length: 15 }, (_, i) => ['l' + i, ''])) }),
});
const show = defineHook({
  on: 'beforeModelCall', name: 'show', match: 'has(labels.team)', run: ({ labels }) => ({ answer: JSON.stringify(labels) }),
});
export default definePlugin({ name: 'acme', version: '1', hooks: [
  start, labels('second', 200, { tier: 'silver' }), labels('first', 100, { tier: 'gold', region: 'eu' }), many, show,
] });
`;

let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-start-hooks-'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.mjs'), plugin);
  const env = { MODEL_NAME: 'scripted', FEATURE_SUB_JOBS: 'true', TRIGGERS_ALLOW_UNSIGNED: 'true' };
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder, env });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function post(path: string, body: object): Promise<{ readonly status: number; readonly body: string }> {
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  const reply = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: reply.status, body: await reply.text() };
}
const callOf = ({ events }: FinishedJob) =>
  events.filter(({ type }) => type.startsWith('tool-call')).at(-1)?.body['call'] as Readonly<Record<string, unknown>>; // PROTOCOL.md

describe('hooks of starts', () => {
  it.each([
    ['forbidden', 403, { code: 'hook_denied', error: 'Not on Sundays.', retryable: false }],
    ['throw', 503, { code: 'hook_failed', error: 'The hook "start" failed.', retryable: true }],
  ])('refuse a REST start with the text "%s" with status %d', async (content, status, error) => {
    const messages = [{ role: 'user', content }];
    const reply = await post('/api/jobs', {
      _threadId: `thread ${content}`,
      _messageId: `message ${content}`,
      messages,
    });
    expect({ status: reply.status, body: JSON.parse(reply.body) as unknown }).toEqual({
      status,
      body: expect.objectContaining(error),
    });
  });

  it('add labels in the order of their priorities, which later hooks, queries and the status show', async () => {
    const { jobId, text, events } = await server.run({ message: 'Hello', labels: { team: 'billing', tier: 'free' } });
    const labels = { team: 'billing', tier: 'silver', region: 'eu' };
    expect(JSON.parse(text)).toEqual(labels);
    const query = `query ($id: ID!) { job(id: $id) { labels } jobs(filter: { labels: { region: "eu", tier: "silver" } }) { nodes { id } } }`;
    expect(await server.graphql(query, { id: jobId })).toEqual({ job: { labels }, jobs: { nodes: [{ id: jobId }] } });
    const headers = { authorization: `Bearer ${server.key}` };
    const reply = await fetch(`${server.url}/api/jobs/${jobId}/status`, { headers });
    expect(await reply.json()).toMatchObject({ labels });
    const queued = events.find(({ type }) => type === 'job-queued');
    expect(queued?.body['appliedHooks']).toMatchObject([
      { hook: 'first', what: ['labels'] },
      { hook: 'second', what: ['labels'] },
    ]);
  });

  it('add no labels if the job would have more than 16 of them', async () => {
    server.model.reply('fine');
    const given = { many: '', other: '' };
    const { jobId } = await server.run({ message: 'Hello', labels: given });
    const query = `query ($id: ID!) { job(id: $id) { labels } }`;
    expect(await server.graphql(query, { id: jobId })).toEqual({ job: { labels: given } });
  });

  it('refuse a sub-job, and the model reads why', async () => {
    const { me } = (await server.graphql('{ me { workspaceId } }')) as { me: { workspaceId: string } }; // by the query
    const args = { workspace: me.workspaceId, model: 'scripted', prompt: 'forbidden' };
    server.model.reply([{ name: 'start_job', arguments: args }], 'I may not.');
    const job = await server.run({ message: 'Start a job', tools: ['start_job'] });
    expect([job.status, job.text]).toEqual(['completed', 'I may not.']);
    expect(callOf(job)).toMatchObject({ status: 'error', error: expect.stringContaining('Not on Sundays.') });
  });

  it('refuse the start of a trigger, whose run fails with the reason', async () => {
    const save = `mutation ($definition: JSON!) {
      saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
    const definition = { triggerId: 'issues', source: 'webhook', start: { prompt: "'Triage: ' + title" } };
    const { saveTrigger } = (await server.graphql(save, { definition })) as {
      saveTrigger: { trigger: { id: string } };
    }; // by the mutation
    expect((await post(`/hooks/${saveTrigger.trigger.id}`, { title: 'forbidden' })).status).toBe(200);
    const query = `{ triggers { nodes { runs(count: 5) { status jobId error { code message } } } } }`;
    interface Runs {
      readonly triggers: { readonly nodes: readonly { readonly runs: readonly { readonly status: string }[] }[] };
    }
    const run = await eventually('the run has failed', async () => {
      const { triggers } = (await server.graphql(query)) as unknown as Runs; // by the query
      const [found] = triggers.nodes[0]?.runs ?? [];
      return found === undefined || found.status === 'DUE' ? undefined : found;
    });
    expect(run).toEqual({ status: 'FAILED', jobId: null, error: { code: 'hook_denied', message: 'Not on Sundays.' } });
  });
});
