import type { NodeType } from '../node-types.js';
import { type BrokenNode, type Draft, type DraftEdge, type DraftNode, placeOf, placeOfEdge } from './draft.js';
import type { IssueList, IssuePlace } from './issue.js';

/** Output handles of each node type, besides `error`. Handles that depend on a node's data are added to these. */
export const OUTPUT_HANDLES: Readonly<Record<NodeType, readonly string[]>> = {
  start: ['output'],
  agent: ['output', 'rejected'],
  router: ['route-1', 'route-2', 'rejected'],
  parallel: ['merged'],
  whileLoop: ['body', 'done'],
  subflow: ['output'],
  output: [],
  tool: ['output'],
  memory: ['output'],
  schemaValidation: ['output', 'invalid'],
  approval: ['output', 'rejected', 'timeout'],
  input: ['output', 'timeout'],
  wait: ['output', 'timeout'],
  http: ['output'],
  transform: ['output'],
  map: ['body', 'done'],
  plugin: ['output'],
};

/** The inputs and outputs of a subflow. */
export interface SubflowPorts {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Checks handles and required inputs. `portsOf` returns the ports of a subflow node; null: the ports are unknown, so every handle is accepted. */
export function checkEdges(draft: Draft, portsOf: (node: DraftNode) => SubflowPorts | null, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    checkRequired(node, issues);
    checkDuplicates(node, issues);
    if (node.type === null) continue;
    const outputs = outputsOf(node, portsOf);
    const inputs = inputsOf(node, portsOf);
    for (const edge of node.outgoing)
      if (isUnknown(edge.sourceHandle, outputs)) {
        const stray = strayEnd(edge, node, 'sourceHandle');
        if (node.type === 'router') issues.warning('UNKNOWN_HANDLE', ...stray);
        else issues.error('UNKNOWN_HANDLE', ...stray);
      }
    for (const edge of node.incoming)
      if (isUnknown(edge.targetHandle, inputs)) issues.error('UNKNOWN_HANDLE', ...strayEnd(edge, node, 'targetHandle'));
  }
}

function outputsOf(node: DraftNode, portsOf: (node: DraftNode) => SubflowPorts | null): ReadonlySet<string> | null {
  const own = new Set(OUTPUT_HANDLES[node.type]);
  if (node.type !== 'output') own.add('error');
  if (node.type === 'router') for (const { id } of node.data.routes) own.add(id);
  if (node.type === 'parallel') for (const { id } of node.data.branches) own.add(id);
  if (node.type !== 'subflow') return own;
  const ports = portsOf(node);
  return ports === null ? null : new Set([...own, ...ports.outputs]);
}

function inputsOf(node: DraftNode, portsOf: (node: DraftNode) => SubflowPorts | null): ReadonlySet<string> | null {
  if (node.type === 'start') return new Set();
  if (node.type === 'whileLoop' || node.type === 'map') return new Set(['input', 'body', 'exit']);
  if (node.type !== 'subflow') return new Set(['input']);
  const ports = portsOf(node);
  return ports === null ? null : new Set(['input', ...ports.inputs]);
}

/** The place of an edge that names an unknown handle, and the message for it. */
function strayEnd(edge: DraftEdge, node: DraftNode, end: 'sourceHandle' | 'targetHandle'): [IssuePlace, string] {
  const verb = end === 'sourceHandle' ? 'begins' : 'ends';
  const message = `Edge "${edge.id}" ${verb} at "${String(edge[end])}", which node "${node.id}" (${node.name}) does not have.`;
  return [{ ...placeOfEdge(edge, end), nodeId: node.id }, message];
}

function isUnknown(handle: string | null, known: ReadonlySet<string> | null): boolean {
  return handle !== null && known?.has(handle) === false;
}

/** A declared input of a subflow counts as its input. */
function checkRequired(node: DraftNode | BrokenNode, issues: IssueList): void {
  if (node.type === null || node.type === 'start') return;
  const isReached = node.incoming.some(
    ({ targetHandle }) => targetHandle === null || targetHandle === 'input' || node.type === 'subflow',
  );
  if (isReached) return;
  issues.error('MISSING_REQUIRED_PORT', placeOf(node), `Node "${node.id}" (${node.name}) has no input; connect it.`);
}

function checkDuplicates(node: DraftNode | BrokenNode, issues: IssueList): void {
  const seen = new Set<string>();
  const reported = new Set<string>();
  for (const { sourceHandle: handle } of node.outgoing) {
    if (handle === null) continue;
    if (seen.has(handle) && !reported.has(handle)) {
      reported.add(handle);
      const message = `Several edges begin at "${handle}" of node "${node.id}"; a router takes only the first of them.`;
      issues.warning('DUPLICATE_SOURCE_HANDLE', placeOf(node), message);
    }
    seen.add(handle);
  }
}
