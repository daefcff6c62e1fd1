import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { planOf, simulate, Simulation } from '../../../../test/harness/workflow-simulator.js';
import type { FinishedNode, ResumeFrom } from './run-plan.js';

const agent = { type: 'agent' };
const graph = graphOf({
  nodes: { r: { type: 'router' }, a: agent, b: agent, c: agent, join: agent, last: agent },
  edges: ['start -> r', 'r:x -> a', 'r:y -> b', 'start -> c', 'a -> join', 'b -> join', 'c -> join', 'join -> last'],
});

function done(nodeId: string, more: Partial<FinishedNode> = {}): FinishedNode {
  return { nodeId, input: '', output: nodeId.toUpperCase(), handles: null, handOn: 'output', ...more };
}

function resumed(resumeFrom: Partial<ResumeFrom> & Pick<ResumeFrom, 'startNodeId'>): Simulation {
  const before = { input: null, finished: [], pending: [], session: null };
  return simulate(
    graph,
    { work: ({ nodeId, input }) => `${nodeId}(${input})` },
    { resumeFrom: { ...before, ...resumeFrom } },
  );
}

const before = [done('start'), done('r', { handles: ['x'], handOn: 'input', input: 'hello' }), done('c'), done('a')];

describe('a rerun that reuses an earlier run', () => {
  it('runs its first node and all later ones, and no others', () => {
    const simulated = resumed({ startNodeId: 'join', finished: before });
    expect(simulated.handedOut).toEqual(['join', 'last']);
    expect(simulated.row('join').input).toBe('A\n\nC');
    expect(simulated.result).toMatchObject({
      status: 'completed',
      executionOrder: ['start', 'r', 'c', 'a', 'join', 'last'],
      nodeOutputs: { start: 'START', a: 'A', c: 'C', join: 'join(A\n\nC)' },
    });
  });

  it('stores reused nodes as completed, and counts no steps for them', () => {
    const simulated = resumed({ startNodeId: 'join', finished: before });
    expect(simulated.row('a')).toMatchObject({ status: 'completed', output: 'A', extra: { isReused: true } });
    expect(simulated.run.steps).toBe(2);
  });

  it('passes the given input to the first node', () => {
    expect(resumed({ startNodeId: 'join', finished: before, input: 'edited' }).row('join').input).toBe('edited');
  });

  it('passes the text of the user to the first node when it has no input edge', () => {
    expect(resumed({ startNodeId: 'join' }).row('join').input).toBe('hello');
  });

  it('follows the handles that the earlier run took', () => {
    const simulated = resumed({ startNodeId: 'a', finished: before.filter(({ nodeId }) => nodeId !== 'a') });
    expect(simulated.handedOut).toEqual(['a', 'join', 'last']);
    expect(simulated.row('a').input).toBe('hello');
  });

  it('runs reached and unfinished nodes, too', () => {
    const finished = before.filter(({ nodeId }) => nodeId === 'start' || nodeId === 'r');
    const simulated = resumed({ startNodeId: 'a', finished, pending: ['c'] });
    expect(simulated.handedOut).toEqual(['a', 'c', 'join', 'last']);
    expect(simulated.row('join').input).toBe('a(hello)\n\nc(START)');
  });

  it('copies no output of a node that runs again', () => {
    expect(resumed({ startNodeId: 'join', finished: [...before, done('last')] }).handedOut).toEqual(['join', 'last']);
  });

  it('shows the earlier outputs and continues the conversation', () => {
    const session = [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'A' },
    ] as const;
    const given = resumed({ startNodeId: 'join', finished: before, session });
    expect(given.views.get('join')?.outputs.get('a')).toBe('A');
    const texts = ['A', 'join(A\n\nC)', 'last(join(A\n\nC))'];
    expect(given.result?.sessionMessages.map(({ content }) => content)).toEqual(['hello', ...texts]);
    const unknown = resumed({ startNodeId: 'join', finished: before });
    expect(unknown.result?.sessionMessages.map(({ content }) => content)).toEqual(['hello', 'C', ...texts]);
  });

  it('ends the same after a crash', () => {
    const resumeFrom = { startNodeId: 'a', input: 'x', finished: before.slice(0, 2), pending: ['c'], session: null };
    const plan = planOf(graph, { resumeFrom });
    const whole = new Simulation(plan).start().finish();
    for (let writes = 0; writes <= whole.writes.length; writes += 1) {
      const again = new Simulation(plan, {}, whole.rows(writes)).start().finish();
      expect(again.result).toEqual(whole.result);
    }
  });
});
