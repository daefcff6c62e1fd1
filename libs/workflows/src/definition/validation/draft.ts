import type { DocumentEdge, DocumentNode, WorkflowDocument } from '../document.js';
import { type NodeData, type NodeType, nodeTypeOf, readNodeData } from '../node-types.js';
import type { Fault } from '../read-tolerantly.js';
import type { IssueList, IssuePlace } from './issue.js';

interface DraftNodeOf<T extends NodeType> {
  readonly type: T;
  /** As the document names it. */
  readonly name: string;
  readonly id: string;
  /** The index of the node in the document. */
  readonly index: number;
  readonly raw: DocumentNode['data'];
  readonly data: NodeData[T];
  readonly faults: readonly Fault[];
  /** In document order. */
  readonly incoming: DraftEdge[];
  readonly outgoing: DraftEdge[];
}

/** A node of a known type whose data makes sense so far. */
export type DraftNode = { readonly [T in NodeType]: DraftNodeOf<T> }[NodeType];

/** A node of an unknown type, or one that lacks what its type needs. */
export type BrokenNode = Omit<DraftNodeOf<NodeType>, 'type' | 'data'> & {
  readonly type: null;
  readonly knownAs: NodeType | null;
};

export interface DraftEdge extends DocumentEdge {
  readonly index: number;
}

/** A document during validation, with its problems: its nodes and edges as far as they can be read. */
export interface Draft {
  readonly document: WorkflowDocument;
  /** By id; of two with the same id the first. */
  readonly nodes: ReadonlyMap<string, DraftNode | BrokenNode>;
  /** In document order, without edges that have no existing source or target. */
  readonly edges: readonly DraftEdge[];
}

/** Also reports inconsistencies: ids that two nodes share, edges without an end. */
export function toDraft(document: WorkflowDocument, issues: IssueList): Draft {
  const nodes = new Map<string, DraftNode | BrokenNode>();
  for (const [index, node] of document.nodes.entries()) {
    if (!nodes.has(node.id)) nodes.set(node.id, toNode(node, index));
    else
      issues.error(
        'DUPLICATE_NODE_ID',
        { path: ['nodes', index, 'id'], nodeId: node.id },
        `Another node has the id "${node.id}" already; give each its own.`,
      );
  }
  const edges: DraftEdge[] = [];
  for (const [index, documentEdge] of document.edges.entries()) {
    const edge: DraftEdge = { ...documentEdge, index };
    const source = nodes.get(edge.source);
    const target = nodes.get(edge.target);
    if (source === undefined) dangling(edge, 'source', issues);
    if (target === undefined) dangling(edge, 'target', issues);
    if (source === undefined || target === undefined) continue;
    source.outgoing.push(edge);
    target.incoming.push(edge);
    edges.push(edge);
  }
  return { document, nodes, edges };
}

/** Where a node, or a member of its data, is. */
export function placeOf(node: DraftNode | BrokenNode, ...path: readonly PropertyKey[]): IssuePlace {
  return { path: ['nodes', node.index, ...path], nodeId: node.id };
}

export function placeOfEdge({ id, index }: DraftEdge, ...path: readonly PropertyKey[]): IssuePlace {
  return { path: ['edges', index, ...path], edgeId: id };
}

function toNode({ id, type: name, data: raw }: DocumentNode, index: number): DraftNode | BrokenNode {
  const common = { id, name, index, raw, incoming: [], outgoing: [] };
  const type = nodeTypeOf(name);
  if (type === null) return { ...common, type: null, knownAs: null, faults: [] };
  const { value, faults } = readNodeData(type, raw);
  if (value === null) return { ...common, type: null, knownAs: type, faults };
  return { ...common, type, data: value, faults } as DraftNode; // the data was read as that of this type
}

function dangling(edge: DraftEdge, end: 'source' | 'target', issues: IssueList): void {
  const message = `Edge "${edge.id}" has a ${end} that does not exist: "${edge[end].slice(0, 200)}". Connect it or remove it.`;
  issues.error('DANGLING_EDGE', placeOfEdge(edge, end), message);
}
