import { describe, expect, it } from '@jest/globals';

import type { ChatMessage } from '#models';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { LIMITS } from '../definition/limits.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { ResumeFrom } from '../engine/run-plan.js';
import { fromNodeRuns } from './to-resume-from.js';

const agent = { type: 'agent' };
const graph = graphOf({
  nodes: { a: agent, b: agent, c: agent, d: agent },
  edges: ['start -> a', 'a -> b', 'b -> c', 'c -> d'],
});

function row(nodeId: string, ordinal: number, more: Partial<NodeRunRow> = {}): NodeRunRow {
  return {
    ...{ nodeId, ordinal, iteration: [], path: [], type: nodeId === 'start' ? 'start' : 'agent', label: nodeId },
    ...{ status: 'completed', input: '', output: nodeId.toUpperCase(), handles: ['output'], handOn: 'output' },
    ...{ extra: {}, error: null, ...more },
  };
}

const reused = { extra: { isReused: true } };
const rows = [row('start', 1, reused), row('a', 2, reused), row('b', 3), row('c', 4), row('d', 5, { status: 'error' })];
const session: ChatMessage[] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'A' },
];
const before: ResumeFrom = { startNodeId: 'b', input: null, finished: [], pending: [], session };
const rerun = (nodeId: string, given: Partial<ResumeFrom> = {}) =>
  fromNodeRuns(graph, { rows, before: { ...before, ...given } }, { nodeId, input: null }).session;

describe('the session of a rerun', () => {
  it('continues the session of an earlier run with the responses of agents in this run', () => {
    expect(rerun('d')).toEqual([...session, { role: 'assistant', content: 'B' }, { role: 'assistant', content: 'C' }]);
  });

  it('leaves out responses that the run produces again', () => {
    expect(rerun('c')).toEqual([...session, { role: 'assistant', content: 'B' }]);
  });

  it('does not exist when the run reused no session', () => {
    expect(rerun('d', { session: null })).toBeNull();
  });
});

describe('the node runs that a rerun reuses', () => {
  const takenFrom = (nodeId: string, given: readonly NodeRunRow[] = rows) =>
    fromNodeRuns(graph, { rows: given, before: null }, { nodeId, input: null }).finished;

  it('exclude nodes that run again', () => {
    expect(takenFrom('b').map(({ nodeId }) => nodeId)).toEqual(['start', 'a']);
    expect(takenFrom('d').map(({ nodeId }) => nodeId)).toEqual(['start', 'a', 'b', 'c']);
    expect(takenFrom('start')).toEqual([]);
  });

  it('may reach but not exceed the text limit of one run', () => {
    const half = 'x'.repeat(LIMITS.runText / 2);
    const long = [row('start', 1, { input: half, output: half }), row('a', 2, { output: '' }), row('b', 3)];
    expect(takenFrom('b', long)).toHaveLength(2);
    const longer = [row('start', 1, { input: half, output: half }), row('a', 2, { output: '!' }), row('b', 3)];
    expect(() => takenFrom('b', longer)).toThrow(expect.objectContaining({ code: 'too_large' }));
  });
});
