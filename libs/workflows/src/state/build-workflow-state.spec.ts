import { describe, expect, it } from '@jest/globals';

import { workflowDocument } from '../../../../test/harness/workflow-documents.js';
import { toGraph } from '../definition/graph.js';
import { readDocument } from '../definitions/read-definition.js';
import { buildWorkflowState as build } from './build-workflow-state.js';
import type { RunState, ShownQuestion, ShownRun } from './run-state.repository.js';

const run = (nodeId: string, change: Partial<ShownRun> = {}): ShownRun => ({
  ...{ ordinal: 1, nodeId, path: [], iteration: [], type: 'agent', label: nodeId, status: 'completed' },
  ...{ output: `of ${nodeId}`, outputBytes: null, extra: {}, error: null, tokens: 0, model: null },
  ...{ input: null, inputBytes: null, handles: null, outputs: null },
  ...{ startedAt: 1, finishedAt: 2 },
  ...change,
});
const state = (change: Partial<RunState> = {}): RunState => ({
  ...{ status: 'running', seq: 7, workflowId: 'w', workflowName: 'x', error: null, createdAt: 1_000, finishedAt: null },
  ...{ promptTokens: 3, completionTokens: 4, runs: [], questions: [], calls: [], isInterrupted: false },
  ...{ workflowVersion: 1, session: null, published: [], streamed: [], spoken: [] },
  input: { prompt: 'Hi', history: [], attachments: [], subflows: {}, toolPins: {} },
  ...change,
});
const buildWorkflowState = (of: RunState) => build(of, null);
const question: ShownQuestion = {
  ...{ id: 'i-1', nodeId: 'a', status: 'open', request: { id: 'hitl_1', mode: 'approval' }, outcome: null },
  ...{ decidedBy: null, decidedAt: null, createdAt: 5, expiresAt: 9 },
};

describe('the state of a workflow', () => {
  it.each<[RunState['status'], boolean, string]>([
    ['queued', false, 'running'],
    ['running', false, 'running'],
    ['waiting', false, 'running'],
    ['waiting', true, 'interrupted'],
    ['completed', true, 'completed'],
    ['failed', false, 'error'],
    ['cancelled', false, 'stopped'],
  ])('maps a job that is %s (unknown outcome open: %s) to %s', (status, isInterrupted, executionState) => {
    expect(buildWorkflowState(state({ status, isInterrupted }))).toMatchObject({ executionState, version: 7 });
  });

  it('contains the result only after the job has ended', () => {
    expect(buildWorkflowState(state()).result).toBeNull();
    expect(buildWorkflowState(state({ status: 'cancelled', finishedAt: 3_000 })).result).toEqual({
      ...{ success: false, duration: 2_000, totalTokens: 7, tokenUsageDetails: [] },
      usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
      error: { code: 'cancelled', message: 'Workflow cancelled', retryable: false },
    });
  });

  it('lists active nodes, the node that began last, and the output', () => {
    const runs = [run('a'), run('b', { status: 'active', output: null, finishedAt: null })];
    expect(buildWorkflowState(state({ runs }))).toMatchObject({
      ...{ currentNodeId: 'b', lastActiveNodeId: 'b', executionOrder: ['a'], finalNodeId: null, finalOutput: '' },
      nodeStates: { b: { status: 'active', output: '' } },
    });
    const ended = { status: 'completed', runs: [run('a'), run('c', { status: 'skipped', output: null })] } as const;
    expect(buildWorkflowState(state(ended))).toMatchObject({
      currentNodeId: null,
      finalNodeId: 'a',
      finalOutput: 'of a',
    });
  });

  it('contains nodes with names of inherited members', () => {
    const { nodeStates } = buildWorkflowState(state({ runs: [run('__proto__'), run('constructor')] }));
    expect(Object.keys(nodeStates)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['label']).toBeUndefined();
  });

  it('shows requests with the ids that clients answer', () => {
    const answer = { outcome: 'approve', answer: { action: 'approve', data: null } };
    const answered = { ...question, id: 'i-2', request: {}, outcome: answer, decidedBy: 'user:u', decidedAt: 8 };
    expect(buildWorkflowState(state({ questions: [question, answered] })).hitlRequests).toEqual({
      hitl_1: { id: 'hitl_1', nodeId: 'a', mode: 'approval', createdAt: 5, expiresAt: 9 },
      'i-2': {
        ...{ id: 'i-2', nodeId: 'a', createdAt: 5, expiresAt: 9 },
        response: { requestId: 'i-2', action: 'approve', respondedBy: 'user:u', respondedAt: 8 },
      },
    });
  });
});

const published = (branch: string, change: Partial<RunState['published'][number]> = {}) => ({
  ...{ nodeId: 'p', branch, label: branch.toUpperCase(), status: null, text: '', bytes: 0 },
  ...change,
});
const streamed = (text: string, branch: string | null, round = 1) => ({
  ...{ nodeId: branch === null ? 'a' : 'p', branch, round, text, bytes: text.length },
});
const spoken = (nodeId: string, ordinal: number, change: Partial<RunState['spoken'][number]> = {}) => ({
  ...{ nodeId, ordinal, path: [], isReused: false, text: `of ${nodeId}`, bytes: 4 },
  ...change,
});

describe('an active node', () => {
  const active = { status: 'active', output: null, finishedAt: null } as const;

  it('shows the text of its newest conversation', () => {
    const live = [streamed('rejected', null, 1), streamed('Dear', null, 2)];
    const { nodeStates } = buildWorkflowState(state({ runs: [run('a', active)], streamed: live }));
    expect(nodeStates['a']).toMatchObject({ status: 'active', output: '', streamingText: 'Dear' });
    const ended = buildWorkflowState(state({ runs: [run('a')], streamed: live }));
    expect(ended.nodeStates['a']).not.toHaveProperty('streamingText');
  });

  it('shows its branches in the declared order: active, completed, failed', () => {
    const branches = [
      published('l'),
      published('m', { status: 'completed', text: 'done', bytes: 4 }),
      published('r', { status: 'error' }),
    ];
    const shown = { type: 'parallel', published: branches, streamed: [streamed('so f', 'l')] } as const;
    const of = (status: 'active' | 'waiting' | 'cancelled') =>
      buildWorkflowState(state({ ...shown, runs: [run('p', { ...active, status, type: 'parallel' })] })).branches;
    expect(of('active')).toEqual({
      'p:l': { id: 'l', label: 'L', status: 'active', output: '', streamingText: 'so f', toolCalls: [] },
      'p:m': { id: 'm', label: 'M', status: 'completed', output: 'done', streamingText: '', toolCalls: [] },
      'p:r': { id: 'r', label: 'R', status: 'error', output: '', streamingText: '', toolCalls: [] },
    });
    expect([of('waiting')['p:l']?.status, of('cancelled')['p:l']?.status]).toEqual(['waiting', 'skipped']);
  });

  it('shows as skipped once the job has ended without it', () => {
    const { nodeStates, currentNodeId } = buildWorkflowState(
      state({ status: 'cancelled', runs: [run('a', { ...active, status: 'waiting' })] }),
    );
    expect([nodeStates['a']?.status, currentNodeId]).toEqual(['skipped', null]);
  });
});

describe('the conversation of a workflow', () => {
  const text = ({ sessionMessages }: ReturnType<typeof build>) => sessionMessages.map(({ content }) => content);

  it('contains texts of agents in a loop once it is done, and none of maps or copied nodes', () => {
    const runs = [
      run('loop', { ordinal: 1, type: 'whileLoop' }),
      run('a', { ordinal: 2 }),
      run('map', { type: 'map' }),
    ];
    const responses = [
      spoken('a', 2),
      spoken('in', 3, { path: ['loop'], text: 'first' }),
      spoken('in', 4, { path: ['loop'], text: 'second' }),
      spoken('item', 5, { path: ['map'] }),
      spoken('old', 6, { isReused: true }),
    ];
    expect(text(buildWorkflowState(state({ runs, spoken: responses })))).toEqual([
      'Hi',
      'first',
      'second',
      'of a',
      'of old',
    ]);
    const session = [{ role: 'user', content: 'before' }] as const;
    const again = buildWorkflowState(state({ runs, spoken: responses, session }));
    expect(text(again)).toEqual(['before', 'first', 'second', 'of a']);
  });

  it('ends with the final output, once', () => {
    const runs = [run('a'), run('end', { type: 'output' })];
    const ended = state({ status: 'completed', runs, spoken: [spoken('a', 1)] });
    expect(text(buildWorkflowState(ended))).toEqual(['Hi', 'of a', 'of end']);
    expect(text(buildWorkflowState({ ...ended, runs: [run('a')] }))).toEqual(['Hi', 'of a']);
  });
});

describe('the resume point of a run', () => {
  const graph = toGraph(
    readDocument(
      JSON.stringify(
        workflowDocument(
          { name: 'x' },
          [{ id: 'a' }, { id: 'b' }, { id: 'after' }, { id: 'beside' }],
          [...['start -> a', 'start -> b', 'a -> after', 'b -> beside']],
        ),
      ),
    ),
  );
  const start = run('start', { type: 'start', handles: ['output'] });
  const read = { input: 'what it read', inputBytes: 12 };
  const skipped = [
    run('after', { status: 'skipped', output: null }),
    run('beside', { status: 'skipped', output: null }),
  ];

  it('points to the node that failed, with the nodes reached beside it', () => {
    const failed = run('a', { ...read, status: 'error', handles: [], output: '' });
    const runs = [start, failed, run('b', { handles: ['output'] }), ...skipped];
    const ended = state({ status: 'failed', runs, spoken: [spoken('b', 3)] });
    expect(build(ended, graph).resumeState).toEqual({
      ...{ startNodeId: 'a', lastActiveNodeId: 'b', resumeInput: 'what it read', pendingNodes: ['beside'] },
      ...{ executionOrder: ['start', 'b'], nodeOutputs: { start: 'of start', b: 'of b' } },
      sessionMessages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'of b' },
      ],
    });
  });

  it('points to the last active node of a stopped run, for any status of its row', () => {
    for (const status of ['active', 'waiting', 'cancelled'] as const) {
      const runs = [start, run('a', { status }), run('b', { ...read, status })];
      expect(build(state({ status: 'cancelled', runs }), graph)).toMatchObject({
        failedNodeId: null,
        resumeState: { startNodeId: 'b', resumeInput: 'what it read', pendingNodes: ['a'], executionOrder: ['start'] },
      });
    }
  });

  it('ignores a failed node after which the run continued', () => {
    const passed = run('a', { status: 'error', handles: ['error'], output: '' });
    const runs = [start, passed, run('b', { status: 'cancelled' })];
    expect(build(state({ status: 'failed', runs }), graph)).toMatchObject({
      failedNodeId: null,
      resumeState: { startNodeId: 'b', executionOrder: ['start', 'a'] },
    });
  });

  it('stays empty before the first node begins, while the run is active, and when it is complete', () => {
    expect(build(state({ status: 'cancelled' }), graph).resumeState).toBeNull();
    expect(build(state({ runs: [start] }), graph).resumeState).toBeNull();
    expect(build(state({ status: 'completed', runs: [start] }), graph).resumeState).toBeNull();
  });
});
