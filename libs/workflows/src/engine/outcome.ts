import { defined } from '#platform';

import { edgesOf, routesOf } from '../definition/edge-lookup.js';
import type { GraphEdge, GraphNode, WorkflowGraph } from '../definition/graph.js';
import type { NodeError, NodeExtra, NodeRunRow, Settlement } from './node-run.js';

/** The row of a finished node run. It determines everything that happens next. */
type Ended = Pick<NodeRunRow, 'status' | 'input' | 'output' | 'handles' | 'handOn'>;

/** Whether a row records that its node failed and that the run must not continue past it. */
export function stopsAll(node: GraphNode, row: Ended): boolean {
  return row.status === 'error' && row.handles?.length === 0 && node.data.errorHandling.mode !== 'continue';
}

/** The edges that a finished node takes. */
export function edgesTaken(
  graph: WorkflowGraph,
  node: GraphNode,
  { status, handles, handOn }: Ended,
): readonly GraphEdge[] {
  if (status === 'error' && handOn === 'nothing') return edgesPastFailure(graph, node.id);
  return (handles ?? []).flatMap((handle) => edgesOf(graph, node.id, handle));
}

/** The edges that a node with mode `continue` takes after a failure. */
function edgesPastFailure(graph: WorkflowGraph, nodeId: string): readonly GraphEdge[] {
  return (graph.outgoing.get(nodeId) ?? []).filter(({ handle }) => handle !== 'error');
}

/** The input of the nodes after this one. */
export function handedOn({ handOn, input, output }: Pick<Ended, 'handOn' | 'input' | 'output'>): string {
  switch (handOn) {
    case 'output':
      return output ?? '';
    case 'input':
      return input;
    case 'nothing':
      return '';
  }
}

/** A node in its graph. */
interface NodePlace {
  readonly graph: WorkflowGraph;
  readonly node: GraphNode;
}

/** The end of a node run whose node succeeded. */
export function completed(row: NodeRunRow, { output, handles, handOn, extra }: Settlement): NodeRunRow {
  return { ...row, status: 'completed', output, handles, handOn, extra: { ...row.extra, ...extra } };
}

/** The node failed, or a node inside it. */
export interface NodeFailed {
  readonly error: Omit<NodeError, 'nodeId'>;
  readonly extra?: NodeExtra | undefined;
  /** The input of the nodes after its `error` edges, in every mode; absent: the mode decides. */
  readonly errorInput?: string;
}

/** The end of a node run whose node failed. It depends on the error mode and on whether the node has an `error` edge. */
export function failed(row: NodeRunRow, failure: NodeFailed, { graph, node }: NodePlace): NodeRunRow {
  const { mode } = node.data.errorHandling;
  const error: NodeError = toNodeError(failure.error, row.nodeId);
  const ended = { ...row, status: 'error' as const, error, extra: { ...row.extra, ...failure.extra } };
  const leadsOn = edgesOf(graph, node.id, 'error').length > 0;
  if (leadsOn && (mode === 'branch' || failure.errorInput !== undefined)) {
    const outputs = { ...ended.extra.outputs, [`${node.id}_error`]: JSON.stringify(error) };
    const extra = { ...ended.extra, outputs };
    const handOn = failure.errorInput === undefined ? 'input' : 'output';
    return { ...ended, extra, output: failure.errorInput ?? '', handles: ['error'], handOn };
  }
  if (mode !== 'continue') return { ...ended, output: '', handles: [], handOn: 'output' };
  const handles = handlesOf({ graph, node }, edgesPastFailure(graph, node.id));
  return { ...ended, output: '', handles, handOn: 'nothing' };
}

/** The handles that name these edges of a node. */
export function handlesOf({ graph, node }: NodePlace, edges: readonly GraphEdge[]): readonly string[] {
  const bare = node.type === 'whileLoop' || node.type === 'map' ? 'done' : 'output';
  const routes = node.type === 'router' ? routesOf(graph, node.id) : [];
  const nameOf = (edge: GraphEdge): string => routes.find((route) => route.edge === edge)?.id ?? edge.handle ?? bare;
  return [...new Set(edges.map(nameOf))];
}

/** The contract requires this order of the members. */
function toNodeError({ message, code, statusCode, retry, rateLimit }: NodeFailed['error'], nodeId: string): NodeError {
  return {
    message,
    code,
    nodeId,
    ...defined({ statusCode, retry, rateLimit }),
  };
}

/** A failure that the engine detects itself. */
export function refusal(message: string, code: NodeError['code'] = 'UNKNOWN'): NodeFailed {
  return { error: { message, code } };
}
