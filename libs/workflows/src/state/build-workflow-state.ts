import { isTerminal, type ToolCallItem } from '#jobs';
import type { ChatMessage } from '#models';
import { defined } from '#platform';
import { projectResult, type ToolCallStatus, toToolCallItem, toWireCall } from '#tools';

import type { WorkflowGraph } from '../definition/graph.js';
import { toWorkflowInput } from '../definitions/workflow-input.js';
import { isFinished, isTransientCode } from '../engine/node-run.js';
import { pendingBeside } from '../start/to-resume-from.js';
import { branchesOf, publishedByNode } from './branches-of.js';
import type { RunState, ShownQuestion, ShownRun, Spoken } from './run-state.repository.js';
import { inputOf, isAtWork, isOnTop, outputOf } from './shown-text.js';
import {
  toNodeState,
  type WorkflowNodeState,
  type WorkflowResult,
  type WorkflowResumeState,
  type WorkflowState,
} from './workflow-state.js';

/** Builds the snapshot for clients of the OR3 protocol from rows. `graph`: required when `needsGraph` returns true. Pure. */
export function buildWorkflowState(state: RunState, graph: WorkflowGraph | null): WorkflowState {
  const { runs } = state;
  const { prompt, attachments } = toWorkflowInput(state.input);
  const top = runs.filter(isOnTop);
  const done = top.filter(({ status }) => status === 'completed' || status === 'error');
  const begun = top.filter(({ status }) => status !== 'skipped' && status !== 'pending');
  const last = state.status === 'completed' ? done.at(-1) : undefined;
  const finalOutput = last === undefined ? '' : outputOf(last);
  const failedNodeId = failedRun(state, graph)?.nodeId ?? null;
  const published = publishedByNode(state);
  const calls = Map.groupBy(state.calls, ({ nodeRun }) => nodeRun);
  const callsOf = (run: ShownRun, branch: string | null): readonly ToolCallItem[] =>
    (calls.get(run.ordinal) ?? []).filter((call) => call.branch === branch).map(toItem);
  return {
    type: 'workflow-execution',
    workflowId: state.workflowId,
    workflowName: state.workflowName ?? '',
    prompt,
    ...(attachments.length === 0 ? {} : { attachments }),
    executionState: executionStateOf(state),
    nodeStates: toRecord(runs.map((run) => [run.nodeId, nodeStateOf(run, state, callsOf(run, null))])),
    nodeOutputs: toRecord(done.map((run) => [run.nodeId, outputOf(run)])),
    executionOrder: done.map(({ nodeId }) => nodeId),
    lastActiveNodeId: begun.at(-1)?.nodeId ?? null,
    sessionMessages: closedWith(sessionOf(state), finalOutput),
    currentNodeId: runs.findLast((run) => isAtWork(run, state))?.nodeId ?? null,
    finalNodeId: last?.nodeId ?? null,
    branches: toRecord(
      runs.flatMap((run) => (run.type === 'parallel' ? branchesOf(run, { state, published, graph, callsOf }) : [])),
    ),
    hitlRequests: toHitlRequests(state),
    finalOutput,
    failedNodeId,
    resumeState: resumeStateOf(state, graph),
    version: state.seq,
    result: resultOf(state, failedNodeId),
  };
}

/** Ids come from documents, so none may reach a prototype. */
function toRecord<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries(entries);
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

function nodeStateOf(run: ShownRun, state: RunState, toolCalls: readonly ToolCallItem[]): WorkflowNodeState {
  const { status, label, type, model, error, startedAt, finishedAt, tokens, extra, iteration } = run;
  const streamingText = streamingTextOf(run, state);
  return {
    status: toNodeState(isTerminal(state.status) && !isFinished(status) ? 'cancelled' : status),
    label,
    type,
    output: outputOf(run),
    ...defined({ streamingText }),
    ...(model === null ? {} : { modelId: model }),
    ...(error === null ? {} : { error: error.message, retryable: isTransientCode(error.code) }),
    ...(startedAt === null ? {} : { startedAt }),
    ...(finishedAt === null ? {} : { finishedAt }),
    ...(tokens === 0 ? {} : { tokenCount: tokens }),
    ...(extra.route === undefined ? {} : { route: extra.route.selectedRoute }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(iteration.length === 0 ? {} : { iteration }),
  };
}

/** The text of its newest conversation, without text that a person rejected. Branches have their own text. */
function streamingTextOf(run: ShownRun, state: RunState): string | undefined {
  if (run.type === 'parallel' || !isAtWork(run, state)) return undefined;
  const newest = state.streamed.findLast(({ nodeId }) => nodeId === run.nodeId);
  return newest === undefined ? undefined : projectResult(newest.text, 'ui', newest.bytes);
}

function toItem(call: RunState['calls'][number]): ToolCallItem {
  return toWireCall(toToolCallItem({ ...call, status: call.status as ToolCallStatus })); // the table's CHECK allows no other
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
    error:
      failure === null
        ? null
        : { retryable: false, ...failure, ...(failedNodeId === null ? {} : { nodeId: failedNodeId }) },
  };
}

/** The node of the top level that ended a failed run; undefined: no node did. Pure. */
function failedRun(state: RunState, graph: WorkflowGraph | null): ShownRun | undefined {
  return state.status === 'failed' ? state.runs.findLast((run) => isOnTop(run) && hasStopped(run, graph)) : undefined;
}

/** Where a failed or stopped run can continue; null: it cannot, or no node had begun. Pure. */
function resumeStateOf(state: RunState, graph: WorkflowGraph | null): WorkflowResumeState | null {
  if (state.status !== 'failed' && state.status !== 'cancelled') return null;
  const begun = state.runs.filter((run) => isOnTop(run) && run.status !== 'skipped' && run.status !== 'pending');
  const start = failedRun(state, graph) ?? begun.findLast(isLeft) ?? begun.at(-1);
  if (start === undefined) return null;
  const others = begun.filter((run) => run !== start);
  const finished = others.filter((run) => !isLeft(run) && !hasStopped(run, graph));
  const beside = graph === null ? [] : pendingBeside(graph, start.nodeId, finished);
  const left = others.filter((run) => !finished.includes(run)).map(({ nodeId }) => nodeId);
  return {
    startNodeId: start.nodeId,
    nodeOutputs: Object.fromEntries(finished.map((run) => [run.nodeId, outputOf(run)])),
    executionOrder: finished.map(({ nodeId }) => nodeId),
    lastActiveNodeId: begun.at(-1)?.nodeId ?? null,
    sessionMessages: sessionOf(state, start.nodeId),
    resumeInput: inputOf(start),
    pendingNodes: [...new Set([...left, ...beside])],
  };
}

/** Returns whether it was executed when the run ended. */
function isLeft({ status }: ShownRun): boolean {
  return status === 'cancelled' || !isFinished(status);
}

/** Returns whether it failed and no node could run after it. */
function hasStopped({ nodeId, status, handles }: ShownRun, graph: WorkflowGraph | null): boolean {
  const mode = graph?.nodes.get(nodeId)?.data.errorHandling.mode;
  return status === 'error' && (handles ?? []).length === 0 && mode !== 'continue';
}

/** The id that clients use in an answer: the id shown in the request, or else our own. */
function requestIdOf({ id, request }: ShownQuestion): string {
  return typeof request['id'] === 'string' ? request['id'] : id;
}

/** Questions of a run by the ids that clients use, each with its answer if it has one. */
function toHitlRequests({ questions }: Pick<RunState, 'questions'>): WorkflowState['hitlRequests'] {
  return Object.fromEntries(
    questions.map((question) => {
      const id = requestIdOf(question);
      const { nodeId, request, createdAt, expiresAt, outcome, decidedBy, decidedAt } = question;
      const answer = outcome?.answer;
      const data = answer?.data ?? undefined;
      const response =
        outcome === null
          ? {}
          : {
              response: {
                requestId: id,
                action: answer?.action ?? outcome.outcome,
                ...defined({ data }),
                ...(decidedBy === null ? {} : { respondedBy: decidedBy }),
                respondedAt: decidedAt,
              },
            };
      const expiry = expiresAt === null ? {} : { expiresAt };
      return [id, { createdAt, ...expiry, ...(nodeId === null ? {} : { nodeId }), ...request, id, ...response }];
    }),
  );
}

/**
 * The conversation as the agents saw it: the earlier messages, the user's message, the agents' responses, including those in passes
 * of loops. `except`: a node that will respond again. Pure.
 */
export function sessionOf(state: RunState, except: string | null = null): readonly ChatMessage[] {
  const { history, prompt } = toWorkflowInput(state.input);
  const places = new Map(state.runs.map((run) => [run.nodeId, run]));
  const isHeard = ({ nodeId, path, isReused }: Spoken): boolean =>
    nodeId !== except &&
    !(isReused && state.session !== null) &&
    path.every((around) => places.get(around)?.type === 'whileLoop');
  // Responses in a loop enter the conversation when the loop is done.
  const placeOf = ({ ordinal, path: [around] }: Spoken): number =>
    around === undefined ? ordinal : (places.get(around)?.ordinal ?? ordinal);
  const heard = state.spoken.filter(isHeard).sort((a, b) => placeOf(a) - placeOf(b) || a.ordinal - b.ordinal);
  return [
    ...(state.session ?? [...history, { role: 'user', content: prompt }]),
    ...heard.map(({ text, bytes }) => ({ role: 'assistant', content: projectResult(text, 'ui', bytes) }) as const),
  ];
}

/** Ends a conversation with the final output. Pure. */
export function closedWith(session: readonly ChatMessage[], finalOutput: string): readonly ChatMessage[] {
  const last = session.at(-1);
  const isInSession = last?.role === 'assistant' && last.content === finalOutput;
  return finalOutput === '' || isInSession ? session : [...session, { role: 'assistant', content: finalOutput }];
}
