import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { keyOf, planOf, simulate, Simulation, type World } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };
const list = (): readonly string[] => ['p', 'q', 'r'];

function graphWith(map: object, edges: readonly string[] = ['map:body -> a', 'map:done -> after']) {
  return graphOf({
    nodes: { map: { type: 'map', ...map }, a: agent, after: agent },
    edges: ['start -> map', ...edges],
  });
}

describe('a map', () => {
  it('runs its body once for each item and returns their texts in the order of the items', () => {
    for (const pick of [() => 0, (count: number) => count - 1]) {
      const simulated = simulate(graphWith({}), { list, pick, work: ({ nodeId, input }) => `${nodeId}(${input})` });
      expect(simulated.row('map')).toMatchObject({ output: '["a(p)","a(q)","a(r)"]', extra: { iterations: 3 } });
      expect(simulated.row('a', [2])).toMatchObject({ input: 'q', path: ['map'] });
      expect(simulated.result?.executionOrder).toEqual(['start', 'map', 'after']);
    }
  });

  it('runs at most the configured number of items at once', () => {
    const simulated = new Simulation(planOf(graphWith({ maxConcurrency: 2 })), { list }).start();
    simulated.step();
    simulated.step();
    expect(simulated.atWork.map(({ run }) => keyOf(run))).toEqual(['a#1', 'a#2']);
    simulated.settle('a', 'done', [2]);
    expect(simulated.atWork.map(({ run }) => keyOf(run))).toEqual(['a#1', 'a#3']);
  });

  it('returns an empty list for no items', () => {
    const simulated = simulate(graphWith({}), { list: () => [] });
    expect(simulated.row('map')).toMatchObject({ status: 'completed', output: '[]' });
  });

  it('lets an item read the nodes before the map and nothing of other items', () => {
    const seen = new Map<string, readonly string[]>();
    const simulated = simulate(graphWith({ maxConcurrency: 1 }), {
      list,
      work: (run, { outputs }) => {
        seen.set(keyOf(run), [...outputs.keys()]);
        return `${run.nodeId}(${run.input})`;
      },
    });
    expect(seen.get('a#3')).toEqual(['start']);
    expect(seen.get('after')).toEqual(['start', 'map']);
    expect(simulated.result?.sessionMessages.map(({ content }) => content)).not.toContain('a(p)');
  });

  const failsAtQ: World = { list, work: ({ input }) => (input === 'q' ? { fail: 'broken' } : `(${input})`) };

  it('fails with the first item that fails, and cancels the others', () => {
    const simulated = simulate(graphWith({}), { ...failsAtQ, pick: (count) => Math.min(1, count - 1) });
    expect(simulated.result?.error).toMatchObject({ message: 'broken', nodeId: 'map' });
    expect(simulated.rows().map((row) => [keyOf(row), row.status])).toEqual([
      ['start', 'completed'],
      ['map', 'error'],
      ['a#1', 'cancelled'],
      ['a#2', 'error'],
      ['a#3', 'cancelled'],
      ['after', 'skipped'],
    ]);
  });

  it('continues after a failed item, with an empty text for it', () => {
    const simulated = simulate(graphWith({ onItemError: 'continue' }), failsAtQ);
    expect(simulated.row('map').output).toBe('["(p)","","(r)"]');
  });

  it('fails without a body and without a list of items', () => {
    expect(simulate(graphWith({}, ['map:done -> after', 'map -> a'])).result?.error?.message).toBe(
      'Map body is not connected',
    );
    const simulated = new Simulation(planOf(graphWith({}))).start();
    simulated.step();
    simulated.settle('map', { fail: 'no list' });
    expect(simulated.result?.error).toMatchObject({ message: 'no list', nodeId: 'map' });
  });
});
