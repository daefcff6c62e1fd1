import type { WorkflowGraph } from '../definition/graph.js';
import { isFinished } from '../engine/node-run.js';
import { pendingBeside } from '../start/to-resume-from.js';
import type { RunState, ShownRun } from './run-state.repository.js';
import { sessionOf } from './session-of.js';
import { inputOf, isOnTop, outputOf } from './shown-text.js';
import type { WorkflowResumeState } from './workflow-state.js';

/** The node of the top that ended a failed run; undefined: none did. Pure. */
export function failedRun(state: RunState, graph: WorkflowGraph | null): ShownRun | undefined {
  return state.status === 'failed' ? state.runs.findLast((run) => isOnTop(run) && hasStopped(run, graph)) : undefined;
}

/** Where a run that failed or was stopped can continue; null: it cannot, or no node had begun. Pure. */
export function resumeStateOf(state: RunState, graph: WorkflowGraph | null): WorkflowResumeState | null {
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

/** Whether it was at work when the run ended. */
function isLeft({ status }: ShownRun): boolean {
  return status === 'cancelled' || !isFinished(status);
}

/** Whether it failed where nothing could come after it. */
function hasStopped({ nodeId, status, handles }: ShownRun, graph: WorkflowGraph | null): boolean {
  const mode = graph?.nodes.get(nodeId)?.data.errorHandling.mode;
  return status === 'error' && (handles ?? []).length === 0 && mode !== 'continue';
}
