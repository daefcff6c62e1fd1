import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { planOf, simulate, Simulation, type World } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };
const failsAtA: World = {
  work: ({ nodeId, input }) => (nodeId === 'a' ? { fail: 'broken' } : `${nodeId}(${input})`),
};

function graphWith(mode: string | undefined, edges: readonly string[]) {
  const errorHandling = mode === undefined ? {} : { errorHandling: { mode } };
  const nodes = { a: { ...agent, ...errorHandling }, b: agent, x: agent, y: agent };
  return graphOf({ nodes, edges: ['start -> a', ...edges] });
}

describe('a failed node that stops the run', () => {
  it.each([undefined, 'stop', 'branch'])('ends the run, with mode %s and no error edge', (mode) => {
    const { result } = simulate(graphWith(mode, ['a -> x']), failsAtA);
    expect(result).toEqual({
      status: 'failed',
      success: false,
      output: '',
      finalOutput: '',
      finalNodeId: 'start',
      lastActiveNodeId: 'start',
      nodeOutputs: { start: 'start(hello)' },
      executionOrder: ['start'],
      sessionMessages: [{ role: 'user', content: 'hello' }],
      error: { message: 'broken', code: 'UNKNOWN', nodeId: 'a', nodeLabel: 'a', nodeType: 'agent' },
    });
  });

  it('ends the run in mode stop, even with an error edge', () => {
    expect(simulate(graphWith('stop', ['a:error -> x']), failsAtA).result?.status).toBe('failed');
  });

  it('reports the status and the retries of the failure', () => {
    const simulated = new Simulation(planOf(graphWith('stop', []))).start();
    simulated.settle('start', 'go');
    const retry = { attempts: 2, maxAttempts: 2, history: [] };
    const error = { message: 'm', code: 'RATE_LIMIT', statusCode: 429, retry, rateLimit: { retryAfterMs: 1 } } as const;
    simulated.send({ type: 'failed', key: { nodeId: 'a', iteration: [] }, error, extra: { retries: 1 } });
    expect(simulated.result?.error).toMatchObject({ code: 'RATE_LIMIT', statusCode: 429, retry });
    expect(simulated.row('a')).toMatchObject({
      status: 'error',
      error: { ...error, nodeId: 'a' },
      extra: { retries: 1 },
    });
  });

  it('cancels its siblings, skips later nodes, and ignores late results', () => {
    const simulated = new Simulation(planOf(graphWith('stop', ['start -> b', 'start -> y', 'b -> x']))).start();
    simulated.settle('start', 'go');
    simulated.settle('y', 'Y');
    simulated.settle('a', { fail: 'broken' });
    expect(simulated.of('cancel')).toEqual([{ type: 'cancel', keys: [{ nodeId: 'b', iteration: [] }] }]);
    expect(simulated.rows().map(({ nodeId, status }) => [nodeId, status])).toEqual([
      ['start', 'completed'],
      ['a', 'error'],
      ['b', 'cancelled'],
      ['y', 'completed'],
      ['x', 'skipped'],
    ]);
    expect(simulated.result?.nodeOutputs).toEqual({ start: 'go', y: 'Y' });
    const settlement = { output: 'late', handles: ['output'], handOn: 'output' } as const;
    expect(simulated.send({ type: 'settled', key: { nodeId: 'b', iteration: [] }, settlement })).toEqual([]);
  });

  it('skips siblings that had no slot yet', () => {
    const many = Array.from({ length: 12 }, (_, at) => `n${at}`);
    const graph = graphOf({
      nodes: Object.fromEntries(many.map((nodeId) => [nodeId, agent])),
      edges: many.map((nodeId) => `start -> ${nodeId}`),
    });
    const simulated = new Simulation(planOf(graph)).start();
    simulated.settle('start', 'go');
    simulated.settle('n3', { fail: 'broken' });
    expect(many.map((nodeId) => simulated.row(nodeId).status)).toEqual([
      ...['cancelled', 'cancelled', 'cancelled', 'error'],
      ...Array.from({ length: 6 }, () => 'cancelled'),
      ...['skipped', 'skipped'],
    ]);
  });
});

describe('a failed node after which the run continues', () => {
  it('passes an empty text along every edge except `error` edges in mode continue', () => {
    const edges = ['a -> x', 'a:error -> y', 'a:rejected -> b'];
    const simulated = simulate(graphWith('continue', edges), failsAtA);
    expect(simulated.result).toMatchObject({ status: 'completed', executionOrder: ['start', 'a', 'x', 'b'] });
    expect(simulated.result?.nodeOutputs['a']).toBe('');
    expect(simulated.row('x').input).toBe('');
    expect(simulated.row('a')).toMatchObject({ status: 'error', output: '', handOn: 'nothing' });
    expect(simulated.row('y').status).toBe('skipped');
  });

  it('completes a run whose last node fails in mode continue', () => {
    expect(simulate(graphWith('continue', []), failsAtA).result).toMatchObject({
      status: 'completed',
      finalOutput: '',
    });
  });

  it('takes only error edges in mode branch, with the input of the failed node and its error as an output', () => {
    let outputs: ReadonlyMap<string, string> = new Map();
    const simulated = simulate(graphWith('branch', ['a -> x', 'a:error -> y']), {
      work: (run, view) => {
        if (run.nodeId === 'y') outputs = new Map(view.outputs);
        return failsAtA.work?.(run, view) ?? '';
      },
    });
    expect(simulated.result?.executionOrder).toEqual(['start', 'a', 'y']);
    expect(simulated.row('y').input).toBe('start(hello)');
    expect(outputs.get('a')).toBe('');
    expect(outputs.get('a_error')).toBe('{"message":"broken","code":"UNKNOWN","nodeId":"a"}');
  });

  it('adds no text to a join in mode continue', () => {
    const simulated = simulate(graphWith('continue', ['start -> b', 'a -> x', 'b -> x']), failsAtA);
    expect(simulated.row('x').input).toBe('b(start(hello))');
  });
});
