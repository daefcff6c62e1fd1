import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FinishedJob, TestServer } from '@nightshift/plugin/testing';

import { runCli } from '../harness/cli.js';
import { eventually } from '../harness/eventually.js';
import { startPluginServer } from '../harness/plugin-server.js';
import { type NodeSketch, workflowDocument } from '../harness/workflow-document.js';

describe('server with failing plugins:', () => {
  const plugin = `import { defineHook, defineNode, definePlugin, defineTool } from '@nightshift/plugin';

const tool = (name, execute) => defineTool({ name, description: name, effect: 'pure', input: { type: 'object' }, execute });
const failing = {
  hang: () => new Promise(() => undefined),
  throw: () => { throw new Error('broken'); },
  nonsense: () => ({ lunch: true }),
  circle: () => { const value = {}; value.self = value; return { arguments: value }; },
  second: ({ text }) => { if (text === 'second') throw new Error('broken'); return { restart: 'rude' }; },
};
const hook = (failure) => defineHook({
  on: 'beforeToolCall', name: failure + '-hook', failure, timeoutMs: 50, match: { tool: failure + '_*' },
  run: ({ tool }) => failing[tool.split('_')[1]](),
});
const kinds = ['beforeJobStart', 'beforeModelCall', 'afterModelCall', 'afterToolCall', 'beforeNode', 'afterNode'];
const hookOf = (on, failure) => defineHook({
  on, name: on + '-' + failure, failure, timeoutMs: 50,
  match: 'has(labels.on) && labels.on == "' + on + '" && labels.failure == "' + failure + '"', run: (event) => failing[event.labels.how](event),
});
const echo = defineNode({ type: 'acme.echo', title: 'Echo', effect: 'pure', input: { type: 'object' }, run: ({ input }) => 'read ' + input });
const names = ['open', 'closed'].flatMap((failure) => Object.keys(failing).map((name) => failure + '_' + name));
export default definePlugin({
  name: 'acme', version: '1', nodes: [echo],
  hooks: [hook('open'), hook('closed'), ...kinds.flatMap((on) => [hookOf(on, 'open'), hookOf(on, 'closed')])],
  tools: [
    tool('plain', () => 'ran'),
    ...names.map((name) => tool(name, () => 'ran')),
    tool('stray_timer', () => { setTimeout(() => { throw new Error('from a timer'); }, 1); return 'set'; }),
    tool('stray_promise', () => { void Promise.reject(new Error('from a promise')); return 'left'; }),
    tool('fatal', () => { setTimeout(() => { process.emit('uncaughtException', Object.assign(new Error('not of a plugin'), { stack: 'Error' })); }, 1); return 'set'; }),
  ],
  close: () => new Promise(() => undefined),
});
`;

  let folder: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-plugin-failures-'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins/acme.mjs'), plugin);
    symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
    const env = { METRICS_TOKEN: 'metrics-token-of-a-test-0123456789' };
    server = await startPluginServer(folder, env);
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function run(name: string): Promise<FinishedJob> {
    server.model.reply([{ name, arguments: {} }], 'done');
    return server.run({ message: 'Use the tool', tools: [name] });
  }
  const callOf = ({ events }: FinishedJob) =>
    events.filter(({ type }) => type.startsWith('tool-call')).at(-1)?.body['call'] as Readonly<Record<string, unknown>>; // PROTOCOL.md
  const metrics = async () => {
    const headers = { authorization: 'Bearer metrics-token-of-a-test-0123456789' };
    return (await fetch(`${server.url}/metrics`, { headers })).text();
  };

  describe('hooks that fail in a running server', () => {
    it.each(['hang', 'throw', 'nonsense', 'circle'])('let the call run if they are open: %s', async (name) => {
      const job = await run(`open_${name}`);
      expect([job.status, callOf(job)]).toEqual(['completed', expect.objectContaining({ result: 'ran' })]);
      expect(job.events.some(({ type }) => type === 'hook-applied')).toBe(false);
    });

    it.each(['hang', 'throw', 'nonsense', 'circle'])('deny the call if they are closed: %s', async (name) => {
      const job = await run(`closed_${name}`);
      expect([job.status, callOf(job)]).toEqual([
        'completed',
        expect.objectContaining({ error: 'The hook "closed-hook" failed.' }),
      ]);
      expect(job.events.find(({ type }) => type === 'hook-applied')?.body).toMatchObject({ what: ['hook_failed'] });
    });

    it('increase a counter by hook and outcome', async () => {
      const text = await metrics();
      for (const failure of ['open', 'closed'])
        for (const [outcome, count] of [
          ['timed_out', 1],
          ['failed', 3],
        ])
          expect(text).toContain(
            `nightshift_hook_runs_total{hook="${failure}-hook",on="beforeToolCall",outcome="${String(outcome)}"} ${String(count)}`,
          );
    });
  });

  const hows = ['hang', 'throw', 'nonsense'];
  const end = ({ events }: FinishedJob) => events.find(({ type }) => type === 'job-finished')?.body;
  const failureOf = (job: FinishedJob) => end(job)?.['error'] as Readonly<Record<string, unknown>> | undefined; // PROTOCOL.md
  const chat = (labels: Readonly<Record<string, string>>) => server.run({ message: 'Go', tools: ['plain'], labels });
  let workflows = 0;
  const workflow = (labels: Readonly<Record<string, string>>, n: NodeSketch = ['acme.echo', {}]) => {
    workflows += 1;
    const ids = { name: `failures ${workflows}`, id: `failures-${workflows}` };
    const document = workflowDocument({ start: 'start', n }, ['start > n'], ids);
    const definition = document as unknown as Record<string, unknown>; // a document is an object
    return server.runWorkflow({ definition, prompt: 'go', labels });
  };

  describe('hooks of each kind that hang, throw or return an invalid value', () => {
    it.each(['beforeJobStart', 'beforeModelCall', 'afterModelCall', 'afterToolCall'])(
      'change nothing in a chat with failure "open": %s',
      async (on) => {
        for (const how of hows) {
          server.model.reply([{ name: 'plain', arguments: {} }], 'done');
          const job = await chat({ on, failure: 'open', how });
          expect([how, job.status, job.text, callOf(job)]).toEqual([
            ...[how, 'completed', 'done'],
            expect.objectContaining({ status: 'complete', result: 'ran' }),
          ]);
        }
      },
    );

    it.each(['beforeNode', 'afterNode'])('change nothing in a workflow with failure "open": %s', async (on) => {
      for (const how of hows) {
        const job = await workflow({ on, failure: 'open', how });
        expect([how, job.status, job.text]).toEqual([how, 'completed', 'read go']);
      }
    });

    it('refuse the start with failure "closed": beforeJobStart', async () => {
      for (const how of hows)
        await expect(chat({ on: 'beforeJobStart', failure: 'closed', how })).rejects.toThrow(
          'The hook "beforeJobStart-closed" failed.',
        );
    });

    it.each([
      ['beforeModelCall', chat],
      ['afterModelCall', chat],
      ['beforeNode', (labels: Readonly<Record<string, string>>) => workflow(labels)],
      ['afterNode', (labels: Readonly<Record<string, string>>) => workflow(labels)],
    ])('fail the job as hook_failed with failure "closed": %s', async (on, run) => {
      for (const how of hows) {
        const job = await run({ on, failure: 'closed', how });
        const message = expect.stringContaining(`The hook "${on}-closed" failed.`);
        expect([how, job.status, failureOf(job)]).toEqual([
          ...[how, 'failed'],
          expect.objectContaining({ code: 'hook_failed', message }),
        ]);
      }
    });

    it('count the tokens of responses that they reject in the usage of the job, of its round and of its node', async () => {
      const labels = { on: 'afterModelCall', failure: 'closed', how: 'second' };
      const usage = { promptTokens: 2, completionTokens: 2, totalTokens: 4 };
      const roundsOf = `query ($id: ID!) { job(id: $id) { usage { totalTokens } rounds { text partial usage { totalTokens } } } }`;
      server.model.reply('first', 'second', 'first', 'second');
      const job = await chat(labels);
      expect(end(job)).toMatchObject({ usage, status: 'failed' });
      expect(await server.graphql(roundsOf, { id: job.jobId })).toEqual({
        job: { usage: { totalTokens: 4 }, rounds: [{ text: '', partial: true, usage: { totalTokens: 4 } }] },
      });
      const ofWorkflow = await workflow(labels, ['agent', { prompt: 'Work.' }]);
      const node = ofWorkflow.events.find(({ type, body }) => type === 'node-finished' && body['nodeId'] === 'n');
      expect([end(ofWorkflow)?.['usage'], node?.body]).toEqual([usage, expect.objectContaining({ tokenCount: 4 })]);
    });

    it('fail the call with failure "closed": afterToolCall', async () => {
      for (const how of hows) {
        server.model.reply([{ name: 'plain', arguments: {} }], 'done');
        const job = await chat({ on: 'afterToolCall', failure: 'closed', how });
        expect([how, job.text, callOf(job)]).toEqual([
          ...[how, 'done'],
          expect.objectContaining({ error: expect.stringContaining('The hook "afterToolCall-closed" failed.') }),
        ]);
      }
    });

    it('leave the server ready', async () => {
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    });
  });

  describe('errors of a plugin outside of its calls', () => {
    it.each([
      ['stray_timer', 'from a timer'],
      ['stray_promise', 'from a promise'],
    ])('appear in the log with the plugin, and the server continues: %s', async (name, message) => {
      expect((await run(name)).status).toBe('completed');
      const line = await eventually('the error is logged', () =>
        server.logs().find(({ err }) => (err as { message?: string } | undefined)?.message === message),
      );
      expect(line).toMatchObject({ plugin: 'acme', msg: 'code of a plugin threw outside of its calls' });
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    });

    it('increase a counter by plugin', async () => {
      expect(await metrics()).toContain('nightshift_plugin_stray_errors_total{plugin="acme"} 2');
    });

    it('stop the server if no file of a plugin is in their stack', async () => {
      await run('fatal').catch(() => undefined);
      await eventually('the server has ended', async () => {
        const isUp = await fetch(`${server.url}/healthz`).then(
          () => true,
          () => false,
        );
        return isUp ? undefined : true;
      });
      expect(server.logs()).toContainEqual(expect.objectContaining({ msg: 'an unexpected error stops this process' }));
      await eventually('the server no longer waits for the plugin', () =>
        server.logs().find(({ plugin: name, msg }) => name === 'acme' && msg === 'a plugin failed to close'),
      );
    });
  });

  describe('nightshift plugins check', () => {
    it('prints the file and the reason for a module that never ends', async () => {
      writeFileSync(join(folder, 'endless.mjs'), 'await new Promise(() => undefined);\n');
      const { code, stderr } = await runCli(['plugins', 'check', 'endless.mjs'], { cwd: folder });
      const file = join(folder, 'endless.mjs');
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `The plugin ${file} cannot be loaded: it did not load within 10 s.\n`,
      });
    });
  });
});

// PROTOCOL.md

describe('hooks of starts', () => {
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
    server = await startPluginServer(folder, env);
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
    events.filter(({ type }) => type.startsWith('tool-call')).at(-1)?.body['call'] as Readonly<Record<string, unknown>>;

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
    const { me } = (await server.graphql('{ me { workspaceId } }')) as { me: { workspaceId: string } }; // the query selects this field
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
      const { triggers } = (await server.graphql(query)) as unknown as Runs; // the query selects this field
      const [found] = triggers.nodes[0]?.runs ?? [];
      return found === undefined || found.status === 'DUE' ? undefined : found;
    });
    expect(run).toEqual({ status: 'FAILED', jobId: null, error: { code: 'hook_denied', message: 'Not on Sundays.' } });
  });
});
