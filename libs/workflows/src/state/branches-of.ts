import type { ToolCallItem } from '#jobs';
import { projectResult } from '#tools';

import type { WorkflowGraph } from '../definition/graph.js';
import type { CutText, PublishedBranch, RunState, ShownRun } from './run-state.repository.js';
import { isAtWork } from './shown-text.js';
import type { WorkflowBranchState } from './workflow-state.js';

/** Published branch states, by the reported ids of nodes. */
type PublishedByNode = ReadonlyMap<string, readonly PublishedBranch[]>;

export function publishedByNode({ published }: Pick<RunState, 'published'>): PublishedByNode {
  return Map.groupBy(published, ({ nodeId }) => nodeId);
}

/** The input for the branches of parallel nodes. */
export interface BranchFacts {
  readonly state: RunState;
  readonly published: PublishedByNode;
  /** The graph of the workflow itself, for labels that were not published; null: all labels were published. */
  readonly graph: WorkflowGraph | null;
  readonly callsOf: (run: ShownRun, branch: string) => readonly ToolCallItem[];
}

/** Returns whether a branch with a response has no published event, because its node was taken over from an earlier run. */
export function hasUnpublishedBranches(state: Pick<RunState, 'runs' | 'published'>): boolean {
  const published = publishedByNode(state);
  return state.runs.some((run) => {
    const known = new Set(published.get(run.nodeId)?.map(({ branch }) => branch));
    return [...answersOf(run).keys()].some((id) => !known.has(id));
  });
}

/** Returns the branches of a parallel node by `<node>:<branch>`, including running and failed ones. Pure. */
export function branchesOf(run: ShownRun, facts: BranchFacts): readonly (readonly [string, WorkflowBranchState])[] {
  const { state, graph, callsOf } = facts;
  const published = new Map(facts.published.get(run.nodeId)?.map((one) => [one.branch, one]));
  const answers = answersOf(run);
  return [...new Set([...published.keys(), ...answers.keys()])].map((id) => {
    const answer = answers.get(id) ?? published.get(id);
    const status = answers.has(id) ? 'completed' : (published.get(id)?.status ?? statusWithin(run, state));
    const streamed = state.streamed.find(({ nodeId, branch }) => nodeId === run.nodeId && branch === id);
    const isOver = status === 'completed' || status === 'error';
    const branch: WorkflowBranchState = {
      id,
      label: published.get(id)?.label ?? labelIn(graph, run.nodeId, id) ?? id,
      status,
      output: toText(answer),
      streamingText: isOver ? '' : toText(streamed),
      toolCalls: callsOf(run, id),
    };
    return [`${run.nodeId}:${id}`, branch];
  });
}

/** Of a branch that has not ended. */
function statusWithin(run: ShownRun, state: RunState): 'active' | 'waiting' | 'skipped' {
  if (!isAtWork(run, state)) return 'skipped';
  return run.status === 'waiting' ? 'waiting' : 'active';
}

/** The outputs of branches, by their own ids: stored outputs have the id of the node in its document. */
function answersOf({ nodeId, outputs }: ShownRun): ReadonlyMap<string, CutText> {
  const own = `${nodeId.slice(nodeId.lastIndexOf('|') + 1)}:`;
  const entries = Object.entries(outputs ?? {}).filter(([name]) => name.startsWith(own));
  return new Map(entries.map(([name, output]) => [name.slice(own.length), output]));
}

function labelIn(graph: WorkflowGraph | null, nodeId: string, branchId: string): string | undefined {
  const node = graph?.nodes.get(nodeId);
  return node?.type === 'parallel' ? node.data.branches.find(({ id }) => id === branchId)?.label : undefined;
}

function toText(cut: CutText | undefined): string {
  return cut === undefined ? '' : projectResult(cut.text, 'ui', cut.bytes);
}
