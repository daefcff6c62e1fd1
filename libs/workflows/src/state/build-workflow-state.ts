import { isTerminal, type ToolCallItem } from '#jobs';
import type { ChatMessage } from '#models';
import { projectResult, type ToolCallStatus, toToolCallItem } from '#tools';

import { isFinished } from '../engine/node-run.js';
import { toWorkflowInput, type WorkflowInput } from '../start/workflow-input.js';
import type { RunState, ShownRun } from './run-state.repository.js';
import { toHitlRequests } from './to-hitl-requests.js';
import {
  toNodeState,
  type WorkflowBranchState,
  type WorkflowNodeState,
  type WorkflowResult,
  type WorkflowResumeState,
  type WorkflowState,
} from './workflow-state.js';

/** The snapshot that clients of the OR3 protocol read, made from rows. Pure. */
export function buildWorkflowState(state: RunState): WorkflowState {
  const { runs } = state;
  const input = toWorkflowInput(state.input);
  const top = runs.filter(({ path, iteration }) => path.length === 0 && iteration.length === 0);
  const done = top.filter(({ status }) => status === 'completed' || status === 'error');
  const begun = top.filter(({ status }) => status !== 'skipped' && status !== 'pending');
  const nodeOutputs = toRecord(done.map((run) => [run.nodeId, textOf(run)]));
  const executionOrder = done.map(({ nodeId }) => nodeId);
  const last = state.status === 'completed' ? done.at(-1) : undefined;
  const failedNodeId = failedIn(state, top);
  const calls = Map.groupBy(state.calls, ({ nodeRun }) => nodeRun);
  const shared = {
    nodeOutputs,
    executionOrder,
    lastActiveNodeId: begun.at(-1)?.nodeId ?? null,
    sessionMessages: sessionOf(input, top),
  };
  return {
    type: 'workflow-execution',
    workflowId: state.workflowId,
    workflowName: state.workflowName ?? '',
    prompt: input.prompt,
    ...(input.attachments.length === 0 ? {} : { attachments: input.attachments }),
    executionState: executionStateOf(state),
    nodeStates: toRecord(runs.map((run) => [run.nodeId, nodeStateOf(run, callsOf(calls, run, null))])),
    ...shared,
    currentNodeId: isTerminal(state.status) ? null : (runs.findLast((run) => !isFinished(run.status))?.nodeId ?? null),
    finalNodeId: last?.nodeId ?? null,
    branches: toRecord(runs.flatMap((run) => branchesOf(calls, run))),
    hitlRequests: toHitlRequests(state),
    finalOutput: last === undefined ? '' : textOf(last),
    failedNodeId,
    resumeState: resumeStateOf(failedNodeId, { ...shared, top }),
    version: state.seq,
    result: resultOf(state, failedNodeId),
  };
}

/** Ids come from documents: no name of theirs reaches a prototype. */
function toRecord<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries(entries);
}

function textOf({ output, outputBytes }: ShownRun): string {
  return projectResult(output ?? '', 'ui', outputBytes ?? undefined);
}

function executionStateOf({ status, isInterrupted }: RunState): WorkflowState['executionState'] {
  switch (status) {
    case 'completed':
      return 'completed';
    case 'failed':
      return 'error';
    case 'cancelled':
      return 'stopped';
    case 'queued':
    case 'running':
    case 'waiting':
      return isInterrupted ? 'interrupted' : 'running';
  }
}

function nodeStateOf(run: ShownRun, toolCalls: readonly ToolCallItem[]): WorkflowNodeState {
  const { status, label, type, model, error, startedAt, finishedAt, tokens, extra, iteration } = run;
  return {
    status: toNodeState(status),
    label,
    type,
    output: textOf(run),
    ...(model === null ? {} : { modelId: model }),
    ...(error === null ? {} : { error: error.message }),
    ...(startedAt === null ? {} : { startedAt }),
    ...(finishedAt === null ? {} : { finishedAt }),
    ...(tokens === 0 ? {} : { tokenCount: tokens }),
    ...(extra.route === undefined ? {} : { route: extra.route.selectedRoute }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(iteration.length === 0 ? {} : { iteration }),
  };
}

/** By the ordinals of node runs. */
type CallsByRun = ReadonlyMap<number, RunState['calls']>;

function callsOf(calls: CallsByRun, run: ShownRun, branch: string | null): readonly ToolCallItem[] {
  return (calls.get(run.ordinal) ?? [])
    .filter((call) => call.branch === branch)
    .map((call) => {
      const item = toToolCallItem({ ...call, status: call.status as ToolCallStatus }); // the table's CHECK allows no other
      return item.result === undefined ? item : { ...item, output: item.result };
    });
}

/** What the branches of a parallel node have said, by `<node>:<branch>`. */
function branchesOf(calls: CallsByRun, run: ShownRun): readonly (readonly [string, WorkflowBranchState])[] {
  const own = `${run.nodeId.slice(run.nodeId.lastIndexOf('|') + 1)}:`; // outputs have the ids of the document
  return Object.entries(run.extra.outputs ?? {}).flatMap(([name, output]) => {
    if (!name.startsWith(own)) return [];
    const id = name.slice(own.length);
    const shown = {
      id,
      label: id,
      status: 'completed',
      output: projectResult(output, 'ui'),
      streamingText: '',
    } as const;
    return [[`${run.nodeId}:${id}`, { ...shown, toolCalls: callsOf(calls, run, id) }] as const];
  });
}

/** The conversation as agents had it: what came before, what the user said, what they said themselves. */
function sessionOf(input: WorkflowInput, top: readonly ShownRun[]): readonly ChatMessage[] {
  const said = top.filter(({ type, status }) => type === 'agent' && status === 'completed');
  return [
    ...input.history,
    { role: 'user', content: input.prompt },
    ...said.map((run) => ({ role: 'assistant', content: textOf(run) }) as const),
  ];
}

function failedIn(state: RunState, top: readonly ShownRun[]): string | null {
  if (state.status !== 'failed') return null;
  return top.findLast(({ status }) => status === 'error')?.nodeId ?? null;
}

function resumeStateOf(
  startNodeId: string | null,
  known: Omit<WorkflowResumeState, 'startNodeId' | 'resumeInput' | 'pendingNodes'> & {
    readonly top: readonly ShownRun[];
  },
): WorkflowResumeState | null {
  if (startNodeId === null) return null;
  const { top, nodeOutputs, executionOrder, ...shared } = known;
  return {
    ...shared,
    startNodeId,
    nodeOutputs: toRecord(Object.entries(nodeOutputs).filter(([id]) => id !== startNodeId)),
    executionOrder: executionOrder.filter((id) => id !== startNodeId),
    resumeInput: null,
    pendingNodes: top.filter(({ status }) => status === 'cancelled').map(({ nodeId }) => nodeId),
  };
}

function resultOf(state: RunState, failedNodeId: string | null): WorkflowResult | null {
  const { status, error, promptTokens, completionTokens, createdAt, finishedAt, runs } = state;
  if (!isTerminal(status)) return null;
  const totalTokens = promptTokens + completionTokens;
  const failure = status === 'cancelled' ? { code: 'cancelled', message: 'Workflow cancelled' } : error;
  return {
    success: status === 'completed',
    duration: Math.max(0, (finishedAt ?? createdAt) - createdAt),
    totalTokens,
    usage: { promptTokens, completionTokens, totalTokens },
    tokenUsageDetails: runs
      .filter(({ tokens }) => tokens > 0)
      .map(({ nodeId, tokens }) => ({ nodeId, totalTokens: tokens })),
    error: failure === null ? null : { ...failure, ...(failedNodeId === null ? {} : { nodeId: failedNodeId }) },
  };
}
