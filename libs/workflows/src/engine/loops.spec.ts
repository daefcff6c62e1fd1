import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { keyOf, planOf, simulate, Simulation } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };
const plain = { includePreviousOutputs: false };
const fixed = (maxIterations: number, more: object = {}) => ({
  type: 'whileLoop',
  loopMode: 'fixed',
  maxIterations,
  ...plain,
  ...more,
});
const asked = (maxIterations: number, more: object = {}) => ({
  type: 'whileLoop',
  conditionPrompt: 'more?',
  maxIterations,
  ...plain,
  ...more,
});
const around = ['start -> loop', 'loop:body -> a', 'loop:done -> after'];

function graphWith(
  loop: { readonly type: string },
  edges = around,
  nodes: Parameters<typeof graphOf>[0]['nodes'] = {},
) {
  return graphOf({ nodes: { loop, a: agent, after: agent, ...nodes }, edges });
}

describe('a loop', () => {
  it('runs exactly maxIterations iterations in mode fixed, each with the output of the last one', () => {
    const simulated = simulate(graphWith(fixed(2, { onMaxIterations: 'error' })));
    expect(simulated.rows().map(keyOf)).toEqual(['start', 'loop', 'a#1', 'a#2', 'after']);
    expect(simulated.row('a', [2]).input).toBe('a(start(hello))');
    expect(simulated.row('after').input).toBe('a(a(start(hello)))');
    expect(simulated.of('decide')).toEqual([]);
    expect(simulated.of('warn')).toEqual([]);
  });

  it('requests a decision before each iteration, and none after the last permitted one', () => {
    const simulated = simulate(graphWith(asked(2)), { decide: () => true });
    expect(simulated.of('decide').map(({ iteration, current, outputs }) => ({ iteration, current, outputs }))).toEqual([
      { iteration: 1, current: 'start(hello)', outputs: [] },
      { iteration: 2, current: 'a(start(hello))', outputs: ['a(start(hello))'] },
    ]);
    expect(simulated.result?.status).toBe('completed');
  });

  it('outputs its input when it runs no iteration', () => {
    const simulated = simulate(graphWith(asked(3)), { decide: () => false });
    expect(simulated.row('loop')).toMatchObject({ status: 'completed', output: 'start(hello)', handles: ['done'] });
    expect(simulated.result?.executionOrder).toEqual(['start', 'loop', 'after']);
  });

  it.each([
    ['error', 'failed', []],
    ['warning', 'completed', ['While loop reached max iterations (1)']],
    ['continue', 'completed', []],
  ])('ends at its limit, with onMaxIterations %s, as %s', (onMaxIterations, status, warnings) => {
    const simulated = simulate(graphWith(asked(1, { onMaxIterations })), { decide: () => true });
    expect(simulated.result?.status).toBe(status);
    expect(simulated.of('warn').map(({ text }) => text)).toEqual(warnings);
    const message = status === 'failed' ? 'While loop reached max iterations (1)' : undefined;
    expect(simulated.result?.error?.message).toBe(message);
  });

  it('fails if the loop has no body', () => {
    const { result } = simulate(graphWith(fixed(1), ['start -> loop', 'loop:done -> after']));
    expect(result?.error).toMatchObject({ message: 'While loop body is not connected', nodeId: 'loop' });
  });

  it('treats an edge without a handle as done', () => {
    const { result } = simulate(graphWith(fixed(1), ['start -> loop', 'loop:body -> a', 'loop -> after']));
    expect(result?.executionOrder).toEqual(['start', 'loop', 'after']);
  });

  it('reports each iteration to viewers, and counts it in its row', () => {
    const simulated = simulate(graphWith(fixed(2)));
    expect(simulated.of('iterate').map(({ iteration, of }) => [iteration, of])).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(simulated.row('loop').extra.iterations).toBe(2);
  });

  it('fails when its condition cannot be evaluated', () => {
    const simulated = new Simulation(planOf(graphWith(asked(2)))).start();
    simulated.settle('start', 'go');
    simulated.settle('loop', { fail: 'no model' });
    expect(simulated.result?.error).toMatchObject({ message: 'no model', nodeId: 'loop' });
  });

  it('ignores a decision that it has not requested', () => {
    const simulated = new Simulation(planOf(graphWith(asked(2)))).start();
    simulated.settle('start', 'go');
    const key = { nodeId: 'loop', iteration: [] };
    expect(simulated.send({ type: 'decided', key, iteration: 2, continues: true })).toEqual([]);
    simulated.send({ type: 'decided', key, iteration: 1, continues: true });
    expect(simulated.send({ type: 'decided', key, iteration: 1, continues: false })).toEqual([]);
    expect(simulated.working).toContain('a');
  });
});

describe('the body of a loop', () => {
  it('reads instructions, the number of the iteration, earlier outputs and the text, in this order', () => {
    const loop = fixed(3, { loopPrompt: ' better ', includeIterationContext: true, includePreviousOutputs: true });
    const long = 'x'.repeat(501);
    const simulated = simulate(graphWith(loop), {
      work: ({ nodeId, iteration }) => (nodeId === 'a' ? (iteration[0] === 1 ? long : 'second') : 'text'),
    });
    expect(simulated.row('a', [1]).input).toBe('[Instructions: better]\n\n[Iteration 1 of 3]\n\ntext');
    expect(simulated.row('a', [3]).input).toBe(
      [
        '[Instructions: better]',
        '[Iteration 3 of 3]',
        '[Previous attempts (2):]',
        `Attempt 1: ${'x'.repeat(500)}...[truncated]`,
        'Attempt 2: second',
        '[Current input to improve:]',
        'second',
      ].join('\n\n'),
    );
  });

  it('never splits a surrogate pair', () => {
    const simulated = simulate(graphWith(fixed(2, { includePreviousOutputs: true })), {
      work: () => `${'x'.repeat(499)}😀 and more`,
    });
    expect(simulated.row('a', [2]).input).toContain(`Attempt 1: ${'x'.repeat(499)}...[truncated]`);
  });

  it('returns all texts in the mode accumulate', () => {
    const simulated = simulate(graphWith(fixed(2, { outputMode: 'accumulate' })), {
      work: ({ nodeId, iteration }) => `${nodeId}${iteration.join('')}`,
    });
    expect(simulated.row('loop').output).toBe('{"iterations":2,"outputs":["a1","a2"],"finalOutput":"a2"}');
  });

  it('runs forks and joins, and returns the joined texts of its leaves', () => {
    const edges = [
      'start -> loop',
      'loop:body -> a',
      'a -> b',
      'a -> c',
      'b -> d',
      'c -> d',
      'a -> e',
      'loop:done -> after',
    ];
    const graph = graphWith(fixed(1), edges, { b: agent, c: agent, d: agent, e: agent });
    const simulated = simulate(graph, { work: ({ nodeId }) => nodeId });
    expect(simulated.row('d', [1]).input).toBe('b\n\nc');
    expect(simulated.row('loop').output).toBe('e\n\nd');
  });

  it('ends an iteration where an edge leaves the body', () => {
    const nodes = { b: { type: 'router' }, c: agent };
    const edges = ['start -> loop', 'loop:body -> b', 'b:stay -> c', 'b:leave -> after', 'loop:done -> after'];
    const graph = graphOf({ nodes: { loop: fixed(1), after: agent, ...nodes }, edges });
    const simulated = simulate(graph, {
      work: ({ nodeId, input }) => (nodeId === 'b' ? { output: input, handles: ['leave'], handOn: 'input' } : nodeId),
    });
    expect(simulated.row('c', [1]).status).toBe('skipped');
    expect(simulated.row('loop').output).toBe('start');
    expect(simulated.result?.executionOrder).toEqual(['start', 'loop', 'after']);
  });

  it('sees the nodes before the loop and the latest outputs of its body', () => {
    const seen: string[] = [];
    const edges = ['start -> loop', 'loop:body -> a', 'a -> b', 'loop:done -> after'];
    simulate(graphWith(fixed(2), edges, { b: agent }), {
      work: ({ nodeId, iteration }, view) => {
        seen.push(`${nodeId}: ${view.earlier.map(({ output }) => output).join(' ')}`);
        return `${nodeId}${iteration.join('')}`;
      },
    });
    expect(seen).toEqual([
      'start: ',
      'a: start',
      'b: start a1',
      'a: start a1 b1',
      'b: start a2 b1',
      'after: start a2 b2 b2',
    ]);
  });

  it('continues the conversation from iteration to iteration and after the loop', () => {
    const { result } = simulate(graphWith(fixed(2)), {
      work: ({ nodeId, iteration }) => `${nodeId}${iteration.join('')}`,
    });
    expect(result?.sessionMessages.map(({ content }) => content)).toEqual(['hello', 'a1', 'a2', 'after']);
  });

  it('hides the outputs of its nodes from siblings of the loop', () => {
    const seen: string[] = [];
    const edges = [...around, 'start -> b', 'b -> c', 'loop:done -> c'];
    const simulated = new Simulation(planOf(graphWith(fixed(1), edges, { b: agent, c: agent })), {
      work: ({ nodeId }, view) => {
        seen.push(`${nodeId}: ${[...view.outputs.keys()].join(' ')}`);
        return nodeId;
      },
      pick: (count) => count - 1,
    }).start();
    simulated.finish();
    expect(seen).toContain('b: start');
  });
});

describe('failures in a body', () => {
  it('fail the loop of the body', () => {
    const simulated = simulate(graphWith(fixed(3)), {
      work: ({ nodeId, iteration }) => (nodeId === 'a' && iteration[0] === 2 ? { fail: 'broken' } : 'ok'),
    });
    expect(simulated.result?.error).toMatchObject({ message: 'broken', nodeId: 'loop', nodeType: 'whileLoop' });
    expect(simulated.row('loop').error).toMatchObject({ message: 'broken', nodeId: 'loop' });
    expect(simulated.row('after').status).toBe('skipped');
  });

  it('follow the error edge of the loop', () => {
    const loop = fixed(3, { errorHandling: { mode: 'branch' } });
    const { result } = simulate(graphWith(loop, [...around, 'loop:error -> b'], { b: agent }), {
      work: ({ nodeId }) => (nodeId === 'a' ? { fail: 'broken' } : nodeId),
    });
    expect(result?.executionOrder).toEqual(['start', 'loop', 'b']);
  });
});

describe('a loop in a loop', () => {
  const graph = graphOf({
    nodes: { outer: fixed(2), inner: fixed(2), a: agent, b: agent },
    edges: ['start -> outer', 'outer:body -> inner', 'inner:body -> a', 'inner:done -> b'],
  });

  it('numbers iterations from the outer loop to the inner one', () => {
    expect(simulate(graph).rows().map(keyOf)).toEqual([
      ...['start', 'outer', 'inner#1', 'a#1#1', 'a#1#2', 'b#1'],
      ...['inner#2', 'a#2#1', 'a#2#2', 'b#2'],
    ]);
  });

  it('reports the nodes that contain a run', () => {
    const simulated = simulate(graph);
    expect(simulated.row('a', [1, 2]).path).toEqual(['outer', 'inner']);
    expect(simulated.row('b', [1]).path).toEqual(['outer']);
  });
});
