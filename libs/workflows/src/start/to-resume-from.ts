import { edgesOf, edgesOnward } from '../definition/edge-lookup.js';
import type { WorkflowGraph } from '../definition/graph.js';
import { LIMITS } from '../definition/limits.js';
import { reachableFrom } from '../definition/loop-bodies.js';
import { type NodeRunRow, spoke } from '../engine/node-run.js';
import type { FinishedNode, ResumeFrom } from '../engine/run-plan.js';
import { cannotRerun, startNodeUnknown, tooMuchToTakeOver } from './start.errors.js';
import type { KnownRun } from './start-workflow.js';

/** Reads what a client knows about an earlier run. Throws `bad_request` if the node is not on the top level of the workflow. Pure. */
export function fromKnownRun(graph: WorkflowGraph, known: KnownRun): ResumeFrom {
  const { startNodeId, nodeOutputs, executionOrder, pendingNodes, sessionMessages, resumeInput } = known;
  const isOnTop = (id: string): boolean => graph.nodes.has(id) && !graph.owners.has(id);
  if (!isOnTop(startNodeId)) throw startNodeUnknown();
  const outputs = new Map(Object.entries(nodeOutputs));
  const order = new Set([...executionOrder, ...graph.nodes.keys(), ...outputs.keys()]);
  const finished = [...order].flatMap((nodeId): readonly FinishedNode[] => {
    const output = outputs.get(nodeId);
    if (output === undefined || nodeId === startNodeId || !isOnTop(nodeId)) return [];
    return [{ nodeId, input: '', output, handles: null, handOn: 'output' }];
  });
  return {
    startNodeId,
    input: resumeInput,
    finished,
    pending: pendingNodes.filter((id) => isOnTop(id) && id !== startNodeId),
    session: sessionMessages,
  };
}

/** The stored results of an ended job, including those that it had taken over. */
export interface EndedRun {
  readonly rows: readonly NodeRunRow[];
  readonly before: ResumeFrom | null;
}

/**
 * Collects the results of an ended job for a run that starts at a reached node of the top level. Contains the texts themselves, because the ended
 * job may be deleted at any time, but no texts of nodes that run again. Their total is limited to what one run may read and write. Throws
 * `bad_request`, `too_large`. Pure.
 */
export function fromNodeRuns(
  graph: WorkflowGraph,
  { rows, before }: EndedRun,
  { nodeId, input }: { readonly nodeId: string; readonly input: string | null },
): ResumeFrom {
  if (nodeId.startsWith('sf:')) throw cannotRerun('This node is inside a subflow: rerun from the subflow node');
  if (!graph.nodes.has(nodeId)) throw cannotRerun('This node is not in the workflow');
  const owner = graph.owners.get(nodeId);
  if (owner !== undefined) throw cannotRerun(`This node is inside a loop: rerun from "${owner}"`);
  const top = rows.filter(({ path, iteration }) => path.length === 0 && iteration.length === 0);
  const reached = top.find((row) => row.nodeId === nodeId);
  if (reached === undefined || reached.status === 'skipped') throw cannotRerun('The job never reached this node');
  const own = new Set(top.map((row) => row.nodeId));
  const again = reachableFrom([nodeId], graph.outgoing);
  const finished = [
    ...(before?.finished ?? []).filter((node) => !own.has(node.nodeId)),
    ...top.flatMap(toFinished),
  ].filter((node) => !again.has(node.nodeId));
  if (lengthOf(finished) > LIMITS.runText) throw tooMuchToTakeOver(LIMITS.runText);
  return {
    startNodeId: nodeId,
    input: input ?? (before?.startNodeId === nodeId ? before.input : null),
    finished,
    pending: pendingBeside(graph, nodeId, finished),
    session: sessionOf(before, top, again),
  };
}

/** UTF-16 units of all texts. */
function lengthOf(finished: readonly FinishedNode[]): number {
  return finished.reduce((sum, { input, output }) => sum + input.length + output.length, 0);
}

/** The session of the earlier run. It already contains nodes that were taken over; nodes that run again have no response yet. */
function sessionOf(
  before: ResumeFrom | null,
  top: readonly NodeRunRow[],
  again: ReadonlySet<string>,
): ResumeFrom['session'] {
  if (before?.session == null) return null;
  const responses = top.filter((row) => spoke(row) && row.extra.isReused !== true && !again.has(row.nodeId));
  return [...before.session, ...responses.map(({ output }) => ({ role: 'assistant', content: output ?? '' }) as const)];
}

/** Returns the nodes that finished nodes led to and that did not finish, besides those that run again anyway. Pure. */
export function pendingBeside(
  graph: WorkflowGraph,
  nodeId: string,
  finished: readonly Pick<FinishedNode, 'nodeId' | 'handles'>[],
): readonly string[] {
  const again = reachableFrom([nodeId], graph.outgoing);
  const done = new Set(finished.map((node) => node.nodeId));
  const taken = finished.flatMap(
    ({ nodeId: from, handles }) =>
      handles?.flatMap((handle) => edgesOf(graph, from, handle)) ?? edgesOnward(graph, from),
  );
  const reached = new Set(taken.map(({ target }) => target));
  return [...reached].filter((id) => !again.has(id) && !done.has(id) && !graph.owners.has(id));
}

/** Skipped nodes are not taken over, because the reason may no longer apply. */
function toFinished(row: NodeRunRow): readonly FinishedNode[] {
  const { nodeId, output, input, handles, handOn, extra } = row;
  if (row.status !== 'completed' && !continuedPast(row)) return [];
  return [{ nodeId, input, output: output ?? '', handles: handles ?? [], handOn, extra }];
}

/** A node that failed while the run could continue. */
function continuedPast({ status, handles }: NodeRunRow): boolean {
  return status === 'error' && handles !== null && handles.length > 0;
}
