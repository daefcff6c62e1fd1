import { notRunnable } from './definition.errors.js';
import type { DocumentMeta, StopPolicy, SubflowInput, SubflowOutput, WorkflowDocument } from './document.js';
import { ownNodes } from './loop-bodies.js';
import { type NodeData, type NodeType, nodeTypeOf, readNodeData } from './node-types.js';
import { topologicalOrder } from './topological-order.js';

/** A node of one type, ready to run. */
export interface GraphNodeOf<T extends NodeType> {
  readonly id: string;
  readonly type: T;
  /** As documents name it: of a plugin's node the type that the plugin defines. */
  readonly typeName: string;
  /** The id of the node if the document has no label for it. */
  readonly label: string;
  readonly description: string | null;
  readonly data: NodeData[T];
}

/** A node, discriminated by its `type`. */
export type GraphNode = { readonly [T in NodeType]: GraphNodeOf<T> }[NodeType];

export interface GraphEdge {
  readonly id: string;
  /** The index of the edge in the document, from 0. Results follow this order. */
  readonly index: number;
  readonly source: string;
  readonly target: string;
  readonly handle: string | null;
  readonly label: string | null;
}

/** What runs again and again inside of a loop, or once for each item inside of a map. */
export interface GraphBody {
  /** The nodes whose innermost loop or map is this one, in document order. Nodes of a nested loop belong to that loop. */
  readonly nodeIds: readonly string[];
  /** The loop's own edges into it. */
  readonly entries: readonly GraphEdge[];
  /** Where an iteration ends: from there, no edge leads to a node of the body. In document order. */
  readonly leaves: readonly string[];
}

/**
 * A definition as the engine runs it. The top and every body are **levels**; a node belongs to exactly one. Nothing in here is
 * ever changed.
 */
export interface WorkflowGraph {
  readonly name: string;
  readonly start: string;
  /** In document order. */
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** In document order, without those that lead to or from nowhere. */
  readonly edges: readonly GraphEdge[];
  /** All edges of a node, in document order, also those that leave its level: what they lead to takes no part there. */
  readonly outgoing: ReadonlyMap<string, readonly GraphEdge[]>;
  /** The edges on which a node waits, in document order: those of its own level, and its loop's own into the body. */
  readonly incoming: ReadonlyMap<string, readonly GraphEdge[]>;
  /** The loop or map whose body a node belongs to; the others are on the top. */
  readonly owners: ReadonlyMap<string, string>;
  /** By the id of a `whileLoop` or a `map`. */
  readonly bodies: ReadonlyMap<string, GraphBody>;
  /** Nodes of the top without outgoing edges: their tokens are the workflow's. */
  readonly leaves: ReadonlySet<string>;
  /** Tools of agents that name none. */
  readonly tools: readonly string[];
  readonly routerEcho: boolean;
  readonly inputs: readonly SubflowInput[];
  readonly outputs: readonly SubflowOutput[];
  readonly stopPolicy: StopPolicy;
}

/** Makes a valid definition ready to run. Throws `workflow_not_runnable` for one that `validateWorkflow` would refuse. */
export function toGraph(document: WorkflowDocument): WorkflowGraph {
  const nodes = new Map(document.nodes.map((node) => [node.id, toNode(node)] as const));
  if (nodes.size < document.nodes.length) throw notRunnable('two nodes have the same id');
  const [start, ...others] = [...nodes.values()].filter(({ type }) => type === 'start');
  if (start === undefined || others.length > 0) throw notRunnable('it needs exactly one start node');
  const edges = toEdges(document, nodes);
  const outgoing = groupedBy(nodes, edges, 'source');
  const loops = topologicalOrder(nodes.keys(), edges).filter((id) => isLooping(nodes.get(id)));
  const { owners } = ownNodes(loops, outgoing);
  const levels = { nodes, outgoing, owners };
  return {
    ...toTerms(document.meta),
    start: start.id,
    nodes,
    edges,
    outgoing,
    incoming: groupedBy(
      nodes,
      edges.filter((edge) => isEntry(edge, owners) || owners.get(edge.source) === owners.get(edge.target)),
      'target',
    ),
    owners,
    bodies: toBodies(loops, levels),
    leaves: new Set([...nodes.keys()].filter((id) => !owners.has(id) && outgoing.get(id)?.length === 0)),
  };
}

function toTerms(
  meta: DocumentMeta,
): Pick<WorkflowGraph, 'name' | 'tools' | 'routerEcho' | 'inputs' | 'outputs' | 'stopPolicy'> {
  const { name, tools, compat, subflow, execution } = meta;
  return { name, tools, routerEcho: compat.routerEcho, ...subflow, stopPolicy: execution.stopPolicy };
}

function toNode({ id, type: name, data }: WorkflowDocument['nodes'][number]): GraphNode {
  const type = nodeTypeOf(name);
  if (type === null) throw notRunnable(`node "${id}" has a type that is not known`);
  const { value } = readNodeData(type, data);
  if (value === null) throw notRunnable(`node "${id}" lacks what its type needs`);
  const { label, description } = value;
  const typeName = type === 'plugin' ? name : type;
  const node = { id, type, typeName, label: label ?? id, description: description ?? null, data: value };
  return node as GraphNode; // the data was read as that of this type
}

function toEdges(document: WorkflowDocument, nodes: ReadonlyMap<string, GraphNode>): readonly GraphEdge[] {
  return document.edges
    .map(({ id, source, target, sourceHandle, label }, index) => ({
      id,
      index,
      source,
      target,
      handle: sourceHandle,
      label,
    }))
    .filter(({ source, target }) => nodes.has(source) && nodes.has(target));
}

function groupedBy(
  nodes: ReadonlyMap<string, GraphNode>,
  edges: readonly GraphEdge[],
  end: 'source' | 'target',
): ReadonlyMap<string, readonly GraphEdge[]> {
  const grouped = new Map<string, GraphEdge[]>();
  for (const id of nodes.keys()) grouped.set(id, []);
  for (const edge of edges) grouped.get(edge[end])?.push(edge);
  return grouped;
}

function isLooping(node: GraphNode | undefined): boolean {
  return node?.type === 'whileLoop' || node?.type === 'map';
}

/** Whether it leads from a loop into its own body. */
function isEntry({ source, target, handle }: GraphEdge, owners: ReadonlyMap<string, string>): boolean {
  return handle === 'body' && owners.get(target) === source;
}

function toBodies(
  loops: readonly string[],
  { nodes, outgoing, owners }: Pick<WorkflowGraph, 'nodes' | 'outgoing' | 'owners'>,
): ReadonlyMap<string, GraphBody> {
  const own = new Map<string, string[]>(loops.map((loop) => [loop, []]));
  for (const id of nodes.keys()) own.get(owners.get(id) ?? '')?.push(id);
  const isLeaf = (id: string): boolean =>
    !(outgoing.get(id) ?? []).some(({ target }) => owners.get(target) === owners.get(id));
  return new Map(
    [...own].map(([loop, nodeIds]) => {
      const entries = (outgoing.get(loop) ?? []).filter((edge) => isEntry(edge, owners));
      return [loop, { nodeIds, entries, leaves: nodeIds.filter(isLeaf) }];
    }),
  );
}
