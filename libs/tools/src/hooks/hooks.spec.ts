import { afterEach, describe, expect, it } from '@jest/globals';
import { defineHook, type HookDefinition, type HookEvent, type HookEvents } from '@nightshift/plugin';

import { createLogger, ManualClock, Metrics, Redactor, Secret } from '#platform';

import { type FilterEvent } from './hook-outcome.js';
import { Hooks } from './hooks.js';

const job = {
  ...{ workspaceId: 'w1', jobId: 'j1', threadId: null, principal: 'user:u1', userId: 'u1' },
  ...{ kind: 'chat', agent: 'support', workflow: null, labels: {} },
};
const events = {
  beforeJobStart: { ...job, labels: { plan: 'free' }, input: { text: 'hi' } },
  beforeModelCall: {
    ...{ ...job, round: 1, model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    ...{ tools: [{ name: 'search' }, { name: 'send' }], parameters: { max_tokens: 100 } },
  },
  afterModelCall: {
    ...{ ...job, round: 1, model: 'm', text: 'my number is 4711', usage: null },
    toolCalls: [{ callId: 'c1', name: 'send', arguments: '{}' }],
  },
  beforeToolCall: {
    ...{ ...job, callId: 'c1', tool: 'send', arguments: { to: 'a@x.org', amount: 5 } },
    ...{ effect: 'once', approval: 'none' },
  },
  afterToolCall: {
    ...{ ...job, callId: 'c1', tool: 'send', arguments: {} },
    ...{ result: 'secret text', error: null, durationMs: 3 },
  },
  beforeNode: { ...job, node: { id: 'n1', type: 'agent', run: 1 }, input: 'in' },
  afterNode: { ...job, node: { id: 'n1', type: 'agent', run: 1 }, output: 'out' },
} satisfies { readonly [On in FilterEvent]: HookEvents[On] };

const clock = new ManualClock();
let metrics = new Metrics();
let redactor = new Redactor();
const logger = createLogger({ level: 'silent' });
const files = { get: () => Promise.reject(new Error('no file is needed')) };
const contexts = {
  servicesFor: () => ({ secrets: { get: () => Promise.resolve('') }, fetch: globalThis.fetch, logger, files }),
  userIdOf: () => Promise.resolve(null),
};

function hooksOf(...hooks: readonly unknown[]): Hooks {
  metrics = new Metrics();
  const plugin = { name: 'acme', secrets: [] };
  const registered = hooks.map((hook) => ({ plugin, hook: hook as HookDefinition })); // as a plugin exports it
  return new Hooks(registered, { contexts, clock, logger, metrics, redactor });
}

/** A hook of any kind that returns `outcome`. */
function returning(on: HookEvent, returned: unknown, more: Partial<HookDefinition> = {}): unknown {
  return { ...defineHook({ on, name: `${on}-hook`, run: () => returned as undefined }), ...more };
}

async function outcomes(): Promise<Readonly<Record<string, number>>> {
  const metric = metrics.registry.getSingleMetric('nightshift_hook_runs_total');
  const values = (await metric?.get())?.values ?? [];
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels['outcome']), value]));
}

const untouched = <Event>(event: Event) => ({ event, end: null, applied: [] });

afterEach(() => {
  redactor = new Redactor();
  expect(clock.pending).toBe(0);
});

describe('Hooks', () => {
  it('runs hooks in ascending order of priority, then of loading, each with the changes of the hooks before it', async () => {
    const add = (name: string, priority?: number) =>
      defineHook({
        ...{ on: 'beforeJobStart', name, ...(priority === undefined ? {} : { priority }) },
        run: ({ input }) => ({ input: { text: `${String(input['text'])} ${name}` }, reason: `adds ${name}` }),
      });
    const { event, applied } = await hooksOf(add('c'), add('d'), add('b', 1), add('e', 101)).filter(
      'beforeJobStart',
      events.beforeJobStart,
    );
    expect(event.input).toEqual({ text: 'hi b c d e' });
    expect(applied[0]).toEqual({ hook: 'b', on: 'beforeJobStart', what: ['input'], reason: 'adds b' });
    expect(applied).toHaveLength(4);
  });

  it.each([
    ['tool == "send"', true],
    ['tool == "pay"', false],
    ['result != null && tool == "pay"', false],
    ['tool == "pay" || result == null', true],
    ['tool == "pay" ? true : kind == "workflow"', false],
    ['!has(arguments.amount) && agent == "sales"', false],
    ['result == null', true],
    ['userId == "u2"', true],
    [{ tool: 'pay' }, false],
    [{ tool: 's*', agent: 'support' }, true],
    [{ agent: 'sales' }, false],
  ] as const)(
    'decides by the fields that are known before the result whether a hook may match: %j',
    (match, isPossible) => {
      const hooks = hooksOf(returning('afterToolCall', undefined, { match }));
      const { kind, agent, workflow } = job;
      expect(hooks.has('afterToolCall', { kind, agent, workflow, tool: 'send' })).toBe(isPossible);
      expect(hooks.has('afterToolCall')).toBe(true);
    },
  );

  it('reports no hook for a kind without hooks', () => {
    const hooks = hooksOf(returning('beforeNode', undefined));
    expect([hooks.has('beforeNode'), hooks.has('afterNode')]).toEqual([true, false]);
  });

  it.each([
    ['a condition that is true', 'arguments.amount > 4 && tool.startsWith("se") && agent == "support"', true],
    ['a condition that is false', 'arguments.amount > 5', false],
    ['globs of which all match', { tool: ['other', 's*d'], agent: 'support', workspace: 'w?' }, true],
    ['globs of which one does not match', { tool: 's*', agent: 'sales' }, false],
    ['globs of a field that is null', { workflow: '*' }, false],
  ])('runs a hook only for events that its match accepts: %s', async (_, match, isRun) => {
    const { end } = await hooksOf(returning('beforeToolCall', { deny: 'no' }, { match })).filter(
      'beforeToolCall',
      events.beforeToolCall,
    );
    expect(end !== null).toBe(isRun);
  });

  it.each([
    ['beforeJobStart', { deny: 'closed today' }, { type: 'denied', code: 'hook_denied', reason: 'closed today' }],
    ['beforeModelCall', { deny: 'no budget' }, { type: 'denied', code: 'hook_denied', reason: 'no budget' }],
    ['beforeModelCall', { answer: 'Hello.' }, { type: 'answered', text: 'Hello.' }],
    ['afterModelCall', { restart: 'rude' }, { type: 'restarted', reason: 'rude' }],
    ['beforeToolCall', { result: { ok: true } }, { type: 'result', value: { ok: true } }],
    ['beforeNode', { skip: 'not today' }, { type: 'skipped', reason: 'not today' }],
    ['beforeNode', { fail: 'broken' }, { type: 'failed', reason: 'broken' }],
    ['afterNode', { fail: 'broken' }, { type: 'failed', reason: 'broken' }],
  ] as const)('ends a step when a hook of %s returns %j, and runs no later hook', async (on, returned, end) => {
    const later = returning(on, { nonsense: true }, { name: 'later' });
    const filtered = await hooksOf(returning(on, returned), later).filter(on, events[on]);
    expect(filtered.end).toEqual(end);
    expect(filtered.applied.map(({ what }) => what)).toEqual([[Object.keys(returned)[0]]]);
    expect(await outcomes()).toEqual({ changed: 1 });
  });

  it.each([
    ['beforeJobStart', { labels: { team: 'billing' } }, { labels: { plan: 'free', team: 'billing' } }, ['labels']],
    ['beforeModelCall', { tools: [{ name: 'search' }] }, { tools: [{ name: 'search' }] }, ['tools']],
    ['beforeModelCall', { parameters: { seed: 1 } }, { parameters: { seed: 1, max_tokens: 100 } }, ['parameters']],
    [
      'beforeModelCall',
      { parameters: { max_completion_tokens: 99 } },
      { parameters: { max_completion_tokens: 99, max_tokens: 100 } },
      ['parameters'],
    ],
    ['afterModelCall', { text: 'my number is …', dropCalls: ['c1'] }, { toolCalls: [] }, ['text', 'dropCalls']],
    ['beforeToolCall', { requireApproval: 'large' }, { approval: 'required' }, ['requireApproval']],
    ['afterToolCall', { result: { count: 1 } }, { result: '{"count":1}' }, ['result']],
    ['afterToolCall', { error: 'withheld' }, { result: null, error: 'withheld' }, ['error']],
    ['afterNode', { output: { a: 1 } }, { output: { a: 1 } }, ['output']],
  ] as const)('changes the event when a hook of %s returns %j', async (...row) => {
    const [on, returned, change, what] = row;
    const { event, end, applied } = await hooksOf(returning(on, returned)).filter(on, events[on]);
    expect([event, end]).toEqual([expect.objectContaining(change), null]);
    expect(applied.map((one) => one.what)).toEqual([what]);
  });

  it.each([
    ['beforeToolCall', undefined],
    ['beforeToolCall', null],
    ['beforeToolCall', {}],
    ['beforeJobStart', { labels: { plan: 'free' } }],
    ['beforeToolCall', { arguments: { amount: 5, to: 'a@x.org' } }],
    ['afterModelCall', { text: 'my number is 4711', dropCalls: [] }],
    ['afterToolCall', { result: 'secret text' }],
  ] as const)('records nothing when a hook of %s returns %j, which changes nothing', async (on, returned) => {
    const filtered = await hooksOf(returning(on, returned)).filter(on, events[on]);
    expect(filtered).toEqual(untouched(events[on]));
    expect(await outcomes()).toEqual({ unchanged: 1 });
  });

  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  it.each([
    ['a text', 'beforeToolCall', 'yes', /must be an object/],
    ['an unknown member', 'beforeToolCall', { allow: true }, /whose allow is not a known field/],
    ['a label that is not a text', 'beforeJobStart', { labels: { team: 1 } }, /whose labels.team must be a text/],
    ['two ends', 'beforeToolCall', { deny: 'a', result: 1 }, /deny together with result/],
    ['an empty reason', 'beforeToolCall', { deny: ' ' }, /whose deny must/],
    ['a circle', 'beforeToolCall', { arguments: circle }, /not JSON/],
    ['a number that JSON lacks', 'beforeToolCall', { arguments: { a: Number.NaN } }, /not JSON/],
    [
      'a tool that is not offered',
      'beforeModelCall',
      { tools: [{ name: 'rm' }] },
      /the tool "rm", which is not offered/,
    ],
    ['a raised limit', 'beforeModelCall', { parameters: { max_tokens: 101 } }, /parameters.max_tokens above 100/],
    [
      'a raised limit of another name',
      'beforeModelCall',
      { parameters: { max_completion_tokens: 101 } },
      /parameters.max_completion_tokens above 100/,
    ],
    ['an unknown call', 'afterModelCall', { dropCalls: ['c2'] }, /the call "c2", which does not exist/],
  ] as const)('counts %s as a failure: the step continues, or is denied', async (...row) => {
    const [, on, returned, reason] = row;
    const open = await hooksOf(returning(on, returned)).filter(on, events[on]);
    expect(open).toEqual(untouched(events[on]));
    expect(await outcomes()).toEqual({ failed: 1 });
    const closed = await hooksOf(returning(on, returned, { failure: 'closed' })).filter(on, events[on]);
    expect(closed.end).toEqual({ type: 'denied', code: 'hook_failed', reason: `The hook "${on}-hook" failed.` });
    expect(closed.applied).toEqual([
      { hook: `${on}-hook`, on, what: ['hook_failed'], reason: expect.stringMatching(reason) },
    ]);
  });

  it('counts a throw as a failure and continues with the next hook', async () => {
    const run = () => {
      throw new Error('down');
    };
    const hooks = hooksOf(
      defineHook({ on: 'beforeToolCall', name: 'broken', run }),
      returning('beforeToolCall', { deny: 'no' }),
    );
    const { end } = await hooks.filter('beforeToolCall', events.beforeToolCall);
    expect(end).toMatchObject({ code: 'hook_denied' });
    expect(await outcomes()).toEqual({ failed: 1, changed: 1 });
  });

  it('counts a condition that fails to evaluate as a failure', async () => {
    const hook = returning('beforeToolCall', { deny: 'no' }, { match: 'arguments.country == "PT"', failure: 'closed' });
    const { end, applied } = await hooksOf(hook).filter('beforeToolCall', events.beforeToolCall);
    expect(end).toMatchObject({ code: 'hook_failed' });
    expect(applied[0]?.reason).toMatch('its match cannot be evaluated: No such key: country');
  });

  it.each(['open', 'closed'] as const)('aborts a hook at its time limit (%s)', async (failure) => {
    const { promise: isAborted, resolve } = Promise.withResolvers<unknown>();
    const hook = defineHook({
      ...{ on: 'afterModelCall', name: 'slow', timeoutMs: 500, failure },
      run: (_, { signal }) => {
        signal.addEventListener('abort', () => {
          resolve(signal.reason);
        });
        return new Promise<never>(() => undefined);
      },
    });
    const filtering = hooksOf(hook).filter('afterModelCall', events.afterModelCall);
    clock.advance(500);
    const { end, applied } = await filtering;
    await expect(isAborted).resolves.toMatchObject({ name: 'TimeoutError' });
    expect(end?.type).toBe(failure === 'open' ? undefined : 'denied');
    expect(applied.map(({ reason }) => reason)).toEqual(failure === 'open' ? [] : ['it did not return within 500 ms']);
    expect(await outcomes()).toEqual({ timed_out: 1 });
  });

  it('rejects with the abort reason of the job, even for a hook with failure closed', async () => {
    const hook = returning('beforeNode', new Promise(() => undefined), { failure: 'closed' });
    const job = new AbortController();
    const filtering = hooksOf(hook).filter('beforeNode', events.beforeNode, { signal: job.signal });
    job.abort(new Error('cancelled'));
    await expect(filtering).rejects.toThrow('cancelled');
    expect(await outcomes()).toEqual({});
  });

  it('counts a second restart of a round as a failure', async () => {
    const hooks = hooksOf(returning('afterModelCall', { restart: 'rude' }));
    const filtered = await hooks.filter('afterModelCall', events.afterModelCall, { mayRestart: false });
    expect(filtered).toEqual(untouched(events.afterModelCall));
  });

  it('leaves the event unchanged when a hook mutates its copy', async () => {
    const hook = defineHook({
      ...{ on: 'beforeToolCall', name: 'rude' },
      run: ({ arguments: args }) => {
        Object.assign(args, { amount: 1_000_000 });
      },
    });
    const { event } = await hooksOf(hook).filter('beforeToolCall', events.beforeToolCall);
    expect(event.arguments).toEqual({ to: 'a@x.org', amount: 5 });
  });

  it('removes secrets from reasons and shortens them', async () => {
    redactor.keep(new Secret('sk-verysecret'), 'w1');
    const hooks = hooksOf(returning('beforeJobStart', { deny: `sk-verysecret ${'x'.repeat(2_000)}` }));
    const { end, applied } = await hooks.filter('beforeJobStart', events.beforeJobStart);
    const reason = applied[0]?.reason ?? '';
    expect(reason).toMatch(/^\[redacted\] x+$/);
    expect(reason.length).toBeLessThanOrEqual(1_000);
    expect(end).toMatchObject({ reason });
  });

  const action = { idempotencyKey: 'k1', attempt: 2, signal: new AbortController().signal };
  const counts = { rounds: 1, toolCalls: 0, promptTokens: 1, completionTokens: 1 };
  const end = {
    ...counts,
    ...({ status: 'completed', reason: 'stop', error: null, parentJobId: null, model: 'm' } as const),
    ...{ createdAt: 0, startedAt: 0, finishedAt: 1 },
  };

  it('runs an action by its name if it matches, with a key and the number of the attempt', async () => {
    const seen: string[] = [];
    const hook = (name: string, match?: string) =>
      defineHook({
        ...{ on: 'onJobFinished', name, ...(match === undefined ? {} : { match }) },
        run: ({ job: row }, { idempotencyKey, attempt }) => {
          seen.push(`${name} ${row.status} ${idempotencyKey} ${attempt}`);
        },
      });
    const hooks = hooksOf(hook('all'), hook('failed', 'job.status == "failed"'));
    const run = { ...action, event: { ...job, job: end } };
    expect(hooks.actions).toEqual(['all', 'failed'].map((name) => ({ on: 'onJobFinished', hook: name })));
    expect(await hooks.act('onJobFinished', 'all', run)).toBe('done');
    expect(await hooks.act('onJobFinished', 'failed', run)).toBe('skipped');
    expect(await hooks.act('onJobFinished', 'gone', run)).toBe('missing');
    expect(seen).toEqual(['all completed k1 2']);
  });

  it('does not begin an action after its signal was aborted', async () => {
    let begun = 0;
    const run = () => {
      begun += 1;
      return new Promise<undefined>(() => undefined);
    };
    const hooks = hooksOf(defineHook({ on: 'onJobFinished', name: 'a', run }));
    const signal = AbortSignal.abort(new Error('the worker stops'));
    const acted = hooks.act('onJobFinished', 'a', { ...action, signal, event: { ...job, job: end } });
    await Promise.resolve();
    clock.advance(2_000);
    await expect(acted).rejects.toThrow('the worker stops');
    expect(begun).toBe(0);
  });

  it('rejects a failed action and counts it', async () => {
    const run = () => Promise.reject(new Error('down'));
    const hooks = hooksOf(defineHook({ on: 'onJobFinished', name: 'a', run }));
    const acted = hooks.act('onJobFinished', 'a', { ...action, event: { ...job, job: end } });
    await expect(acted).rejects.toThrow('down');
    expect(await outcomes()).toEqual({ failed: 1 });
  });
});
