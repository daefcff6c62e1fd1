import { expect, it, jest } from '@jest/globals';

import { CancelRequested, JobCancelled } from '#jobs';
import { DatabaseUnavailable } from '#platform';

import { NodeFailure } from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { LeaseContext } from './lease-context.js';
import { PluginRun } from './plugin-run.js';
import { RunFacts } from './run-facts.js';

it.each(['once', 'idempotent'])(
  'PluginRun does not run the code of a %s node after a cancel was acknowledged',
  async (effect) => {
    const code = jest.fn();
    const controller = new AbortController();
    const node = { type: 'pay', effect, parse: () => Promise.resolve({}), definition: { run: code } };
    const context = {
      run: {
        job: { jobId: 'j', workspaceId: 'w', format: 1 },
        ...{ signal: controller.signal, abort: controller.abort.bind(controller) },
        // As of a job whose cancel is stored: a write without this condition is accepted.
        ...{ append: () => undefined, commit: () => Promise.resolve(), assertValid: () => undefined },
        commitUnlessCancelled: () => Promise.reject(new CancelRequested('j', 'human')),
      },
      services: { plugins: { find: () => node } },
      facts: new RunFacts(() => 0),
    };
    const row = { ordinal: 1, nodeId: 'n', status: 'running', input: '', extra: {}, path: [], iteration: [] };
    // A start of a plugin node reads no more of these than this.
    const run = new PluginRun(context as unknown as LeaseContext, row as unknown as NodeRunRow);
    await expect(run.run('pay', { given: {}, signal: controller.signal })).rejects.toBeInstanceOf(JobCancelled);
    expect(code).not.toHaveBeenCalled();
  },
);

it.each([
  ['releases the job', 'idempotent', DatabaseUnavailable],
  ['fails the node', 'once', NodeFailure],
])('a lost database %s while the code of an %s plugin node runs', async (_, effect, kind) => {
  const { signal } = new AbortController();
  const code = () => Promise.reject(new DatabaseUnavailable(new Error('ECONNREFUSED')));
  const node = { type: 'pay', effect, parse: () => Promise.resolve({}), definition: { run: code } };
  const context = {
    run: {
      job: { jobId: 'j', workspaceId: 'w', format: 1 },
      ...{ signal, activity: { track: (work: unknown) => work } },
      ...{ assertValid: () => undefined, commitUnlessCancelled: () => Promise.resolve() },
    },
    services: {
      plugins: { find: () => node },
      contexts: { userIdOf: () => Promise.resolve(null), servicesFor: () => ({ files: {} }) },
      redactor: { of: () => ({ redact: (text: string) => text }) },
    },
    facts: new RunFacts(() => 0),
  };
  const row = { ordinal: 1, nodeId: 'n', status: 'running', input: '', extra: {}, path: [], iteration: [] };
  // An attempt reads no more of these than this.
  const run = new PluginRun(context as unknown as LeaseContext, row as unknown as NodeRunRow);
  await expect(run.run('pay', { given: {}, signal })).rejects.toBeInstanceOf(kind);
});

it('PluginRun ends with the reason of its signal while a schema never finishes to parse the data', async () => {
  const controller = new AbortController();
  const parse = () => {
    controller.abort(new Error('Node timed out'));
    return new Promise<never>(() => undefined);
  };
  const node = { type: 'endless', effect: 'pure', parse };
  const context = { services: { plugins: { find: () => node } } };
  const run = new PluginRun(context as unknown as LeaseContext, {} as unknown as NodeRunRow); // parsing reads no more of them
  await expect(run.run('endless', { given: {}, signal: controller.signal })).rejects.toThrow('Node timed out');
});
