import { describe, expect, it } from '@jest/globals';

import { ConversationFailed } from '#chat';
import { ManualClock } from '#platform';

import { type NodeCase, runNode } from '../../../../test/harness/nodes.js';
import { NodeFailure } from '../engine/node-executor.js';

const branches = [
  { id: 'a', label: 'Pros', prompt: 'Only pros.', model: 'big', tools: ['find'] },
  { id: 'b', label: 'Cons' },
];
const parallel = (over: Partial<NodeCase> & { readonly data?: object } = {}): NodeCase => ({
  ...over,
  type: 'parallel',
  data: { branches, ...over.data },
});
const models = { a: ['good'], b: ['bad'], __merge__: ['both'] };
const outputs = { 'n:a': 'good', 'n:b': 'bad' };
const until = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', () => {
      reject(new Error('aborted'));
    });
  });

describe('the branches of a parallel node', () => {
  it('run as separate model calls, all started before one ends', async () => {
    const { record } = await runNode(parallel({ data: { model: 'small' }, models }));
    expect(record.conversations).toMatchObject([
      {
        branch: 'a',
        model: 'big',
        tools: ['find'],
        maxIterations: 10,
        messages: [
          { role: 'system', content: 'Only pros.' },
          { role: 'user', content: 'hello' },
        ],
      },
      {
        branch: 'b',
        model: 'small',
        tools: [],
        maxIterations: 10,
        messages: [
          { role: 'system', content: 'You are a helpful assistant.' },
          { role: 'user', content: 'hello' },
        ],
      },
    ]);
    expect(record.branches).toEqual(['+a Pros', '+b Cons', '-a good', '-b bad']);
  });

  it('return their texts in the declared order, for any order of ending', async () => {
    const late = { ...models, a: [() => new Promise(setImmediate).then(() => answer('good'))] };
    const { outcome, record } = await runNode(parallel({ models: late }));
    expect(record.branches.slice(2)).toEqual(['-b bad', '-a good']);
    expect(outcome).toEqual({
      type: 'finished',
      output: '## Pros\ngood\n\n## Cons\nbad',
      handles: ['merged'],
      handOn: 'output',
      extra: { outputs },
    });
  });

  it('do not fail the node when some of them fail', async () => {
    const { outcome } = await runNode(parallel({ models: { a: [new NodeFailure('no tool', 'UNKNOWN')], b: ['bad'] } }));
    expect(outcome).toMatchObject({
      output: '## Cons\nbad\n\n## Errors\nPros: no tool',
      extra: { outputs: { 'n:b': 'bad' } },
    });
  });

  it('do not fail the node when all of them fail', async () => {
    const no = [new NodeFailure('no', 'UNKNOWN')];
    const { outcome } = await runNode(parallel({ models: { a: no, b: no } }));
    expect(outcome).toMatchObject({
      output: '## Errors\nPros: no\nCons: no',
      handles: ['merged'],
      extra: { outputs: {} },
    });
  });

  it('fail the node when the cause of the failure is unknown', async () => {
    await expect(runNode(parallel({ models: { ...models, b: [new TypeError('x is undefined')] } }))).rejects.toThrow(
      TypeError,
    );
  });

  it('end the job, not only the node, when an approval in a branch expires', async () => {
    const ending = new ConversationFailed({ code: 'approval_expired', message: 'x' }, true);
    await expect(runNode(parallel({ models: { ...models, b: [ending] } }))).rejects.toBe(ending);
  });

  it('abort at their timeout, and leave no timer', async () => {
    const clock = new ManualClock();
    const slow = { a: [({ signal }: { signal?: AbortSignal }) => (clock.advance(500), until(signal))], b: ['bad'] };
    const running = runNode(parallel({ clock, data: { branchTimeout: 600 }, models: slow }));
    clock.advance(100);
    const { outcome } = await running;
    expect(outcome).toMatchObject({ output: '## Cons\nbad\n\n## Errors\nPros: Branch "Pros" timed out after 600ms' });
    expect(clock.pending).toBe(0);
  });

  it('run without a timeout when branchTimeout is 0', async () => {
    const clock = new ManualClock();
    const seen: number[] = [];
    const a = [() => (seen.push(clock.pending), Promise.resolve(answer('good')))];
    await runNode(parallel({ clock, data: { branchTimeout: 0 }, models: { ...models, a } }));
    await runNode(parallel({ clock, models: { ...models, a } }));
    expect(seen).toEqual([0, 1]);
  });

  it('abort when the node is aborted', async () => {
    const abort = new AbortController();
    const a = [({ signal }: { signal?: AbortSignal }) => (abort.abort(new Error('sibling failed')), until(signal))];
    const slow = { a: [({ signal }: { signal?: AbortSignal }) => until(signal)], b: a };
    const record = runNode(parallel({ signal: abort.signal, models: slow }));
    await expect(record).rejects.toThrow('sibling failed');
  });

  it('keep the node waiting until people have decided their requests', async () => {
    const waiting = (id: string) => [{ type: 'waiting', interruptIds: [id], calls: [`${id}:1`] } as const];
    const { outcome, record } = await runNode(
      parallel({
        data: { branches: [...branches, { id: 'c', label: 'C' }] },
        models: { a: waiting('1'), b: ['bad'], c: waiting('2') },
      }),
    );
    expect(outcome).toEqual({ type: 'waiting', interruptIds: ['1', '2'], calls: ['1:1', '2:1'] });
    expect(record.branches).toEqual(['+a Pros', '+b Cons', '+c C', '-b bad']);
  });

  it('must not be empty', async () => {
    await expect(runNode(parallel({ data: { branches: [] } }))).rejects.toThrow(
      'Parallel node has no branches configured',
    );
  });
});

describe('the merge of a parallel node', () => {
  it('makes one more call', async () => {
    const { outcome, record } = await runNode(parallel({ data: { prompt: 'Merge well.', model: 'small' }, models }));
    expect(outcome).toEqual({
      type: 'finished',
      output: 'both',
      handles: ['merged'],
      handOn: 'output',
      extra: { outputs },
    });
    expect(record.conversations[2]).toMatchObject({ branch: '__merge__', model: 'small', tools: [] });
    expect(record.texts(2)).toEqual(['Merge well.', expect.stringContaining('## Pros\ngood\n\n## Cons\nbad')]);
    expect(record.branches.slice(4)).toEqual(['+__merge__ Merge', '-__merge__ both']);
  });

  it('passes the whole text to every branch edge when merging is off', async () => {
    const { outcome } = await runNode(parallel({ data: { prompt: 'Merge.', mergeEnabled: false }, models }));
    expect(outcome).toMatchObject({ output: '## Pros\ngood\n\n## Cons\nbad', handles: ['a', 'b'], extra: { outputs } });
  });
});

function answer(text: string): { type: 'answered'; text: string; captured: null } {
  return { type: 'answered', text, captured: null };
}
