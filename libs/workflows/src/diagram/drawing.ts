import type { WorkflowDocument } from '../definition/document.js';
import { memberOf } from '../definition/json.js';
import { LIMITS } from '../definition/limits.js';
import type { NodeRunStatus } from '../engine/node-run.js';

/** The statuses of the nodes of a run, by their ids. */
export type NodeStates = ReadonlyMap<string, NodeRunStatus>;

export interface DrawnNode {
  readonly label: string;
  readonly type: string;
  /** Null: the node has not run, or the diagram shows no run. */
  readonly status: NodeRunStatus | null;
}

/** Between nodes by their places in `nodes`. */
export interface DrawnEdge {
  readonly from: number;
  readonly to: number;
  readonly label: string | null;
}

/** The parts of a document that are drawn, including its problems: at most 500 nodes and 2,000 edges. */
export interface Drawing {
  readonly name: string;
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** A sentence on what it shows. */
  readonly description: string;
}

const longestLabel = 60;

export function toDrawing(document: WorkflowDocument, states: NodeStates = new Map()): Drawing {
  const places = new Map<string, number>();
  const nodes: DrawnNode[] = [];
  for (const { id, type, data } of document.nodes.slice(0, LIMITS.nodes)) {
    if (places.has(id)) continue;
    places.set(id, nodes.length);
    const label = memberOf(data, 'label');
    nodes.push({
      label: shortened(typeof label === 'string' && label.trim() !== '' ? label : id),
      type: shortened(type),
      status: states.get(id) ?? null,
    });
  }
  const edges = document.edges.slice(0, LIMITS.edges).flatMap(({ source, target, sourceHandle, label }) => {
    const from = places.get(source);
    const to = places.get(target);
    if (from === undefined || to === undefined) return [];
    const text = label ?? (sourceHandle === 'output' ? null : sourceHandle);
    return [{ from, to, label: text === null ? null : shortened(text) }];
  });
  const name = shortened(document.meta.name);
  return { name, nodes, edges, description: describe(nodes, edges, document.nodes.length) };
}

/** One line, cut between characters and not within one. */
function shortened(text: string): string {
  const line = text
    .slice(0, 4 * longestLabel)
    .replaceAll(/\s+/g, ' ')
    .trim();
  const characters = Array.from(line);
  if (characters.length <= longestLabel && text.length <= 4 * longestLabel) return line;
  return `${characters.slice(0, longestLabel - 1).join('')}…`;
}

function describe(nodes: readonly DrawnNode[], edges: readonly DrawnEdge[], all: number): string {
  const counts = new Map<string, number>();
  for (const { status } of nodes) if (status !== null) counts.set(status, (counts.get(status) ?? 0) + 1);
  const states = [...counts].map(([status, count]) => `${count} ${status}`);
  const omitted = all > nodes.length ? `, the first of ${all}` : '';
  const shown = `A workflow of ${nodes.length} nodes${omitted} and ${edges.length} edges`;
  return states.length === 0 ? `${shown}.` : `${shown}: ${states.join(', ')}.`;
}
