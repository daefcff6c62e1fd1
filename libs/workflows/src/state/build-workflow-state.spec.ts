import { describe, expect, it } from '@jest/globals';

import { buildWorkflowState } from './build-workflow-state.js';
import type { RunState, ShownQuestion, ShownRun } from './run-state.repository.js';

const run = (nodeId: string, change: Partial<ShownRun> = {}): ShownRun => ({
  ...{ ordinal: 1, nodeId, path: [], iteration: [], type: 'agent', label: nodeId, status: 'completed' },
  ...{ output: `of ${nodeId}`, outputBytes: null, extra: {}, error: null, tokens: 0, model: null },
  ...{ startedAt: 1, finishedAt: 2 },
  ...change,
});
const state = (change: Partial<RunState> = {}): RunState => ({
  ...{ status: 'running', seq: 7, workflowId: 'w', workflowName: 'x', error: null, createdAt: 1_000, finishedAt: null },
  ...{ promptTokens: 3, completionTokens: 4, runs: [], questions: [], calls: [], isInterrupted: false },
  input: { prompt: 'Hi', history: [], attachments: [], subflows: {}, toolPins: {} },
  ...change,
});
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
  ])('of a job that is %s (unknown outcome open: %s) is %s', (status, isInterrupted, executionState) => {
    expect(buildWorkflowState(state({ status, isInterrupted }))).toMatchObject({ executionState, version: 7 });
  });

  it('has its result once it has ended, and no earlier', () => {
    expect(buildWorkflowState(state()).result).toBeNull();
    expect(buildWorkflowState(state({ status: 'cancelled', finishedAt: 3_000 })).result).toEqual({
      ...{ success: false, duration: 2_000, totalTokens: 7, tokenUsageDetails: [] },
      usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
      error: { code: 'cancelled', message: 'Workflow cancelled' },
    });
  });

  it('tells what works now, what was begun last, and what came out', () => {
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

  it('keeps nodes apart from what every object has', () => {
    const { nodeStates } = buildWorkflowState(state({ runs: [run('__proto__'), run('constructor')] }));
    expect(Object.keys(nodeStates)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['label']).toBeUndefined();
  });

  it('shows requests by the ids that clients answer them by', () => {
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
