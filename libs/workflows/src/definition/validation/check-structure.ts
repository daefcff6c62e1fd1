import { ownNodes, reachableFrom } from '../loop-bodies.js';
import { topologicalOrder } from '../topological-order.js';
import { type BrokenNode, type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** Node types that have no effect unless an edge leads to them. */
const WORKERS: ReadonlySet<string> = new Set(['agent', 'router', 'parallel', 'tool', 'memory']);
const SHOWN_IDS = 20;

/** Checks the graph: one start node, all nodes reachable from it, no cycle, and no node in the bodies of two loops. */
export function checkStructure(draft: Draft, issues: IssueList): void {
  const start = checkStart(draft, issues);
  checkReached(draft, start, issues);
  const order = topologicalOrder(draft.nodes.keys(), draft.edges);
  if (order.length < draft.nodes.size) checkCycle(draft, order, issues);
  else checkBodies(draft, order, issues);
  checkComponents(draft, issues);
}

function nodesOf(draft: Draft): readonly (DraftNode | BrokenNode)[] {
  return [...draft.nodes.values()];
}

function checkStart(draft: Draft, issues: IssueList): DraftNode | null {
  const starts = nodesOf(draft).filter((node): node is DraftNode => node.type === 'start');
  const [start, ...others] = starts;
  if (start === undefined) {
    issues.error('NO_START_NODE', { path: ['nodes'] }, 'The workflow has no start node; add one.');
    return null;
  }
  for (const other of others)
    issues.error(
      'MULTIPLE_START_NODES',
      placeOf(other),
      `Only one start node is allowed, "${start.id}" is one already.`,
    );
  if (starts.every(({ outgoing }) => outgoing.length === 0))
    issues.error('DISCONNECTED_NODE', placeOf(start), 'Nothing follows the start node; connect it.');
  return others.length === 0 ? start : null;
}

/** Without exactly one start node, only nodes without any incoming edge are certainly unreachable. */
function checkReached(draft: Draft, start: DraftNode | null, issues: IssueList): void {
  const outgoing = outgoingOf(draft);
  const reached = start === null ? null : reachableFrom([start.id], outgoing);
  for (const node of draft.nodes.values()) {
    if (node.type === 'start') continue;
    const isIdle = WORKERS.has(node.type ?? '') && node.incoming.length === 0;
    if (reached === null ? isIdle : !reached.has(node.id))
      issues.error(
        'DISCONNECTED_NODE',
        placeOf(node),
        `Node "${node.id}" cannot be reached from the start; connect it.`,
      );
  }
}

function outgoingOf(draft: Draft): ReadonlyMap<string, DraftNode['outgoing']> {
  return new Map(nodesOf(draft).map(({ id, outgoing }) => [id, outgoing]));
}

function checkCycle(draft: Draft, order: readonly string[], issues: IssueList): void {
  const cycle = findCycle(draft.nodes.keys(), draft.edges, new Set(order));
  const node = draft.nodes.get(cycle[0] ?? '');
  if (node === undefined) return;
  const message = `The workflow runs in a circle: ${toPath(cycle)}. Use a loop node to repeat something.`;
  issues.error('CYCLE_DETECTED', placeOf(node), message);
}

/** `a → b → a`. */
export function toPath(cycle: readonly string[]): string {
  const shown =
    cycle.length <= SHOWN_IDS ? cycle : [...cycle.slice(0, SHOWN_IDS - 1), `… ${cycle.length - SHOWN_IDS + 1} more …`];
  return [...shown, ...cycle.slice(0, 1)].join(' → ');
}

function checkBodies(draft: Draft, order: readonly string[], issues: IssueList): void {
  const loops = order.filter((id) => ['whileLoop', 'map'].includes(draft.nodes.get(id)?.type ?? ''));
  const outgoing = new Map(
    nodesOf(draft).map(({ id, outgoing: edges }) => [
      id,
      edges.map(({ source, target, sourceHandle }) => ({ source, target, handle: sourceHandle })),
    ]),
  );
  for (const { nodeId, loops: claimants } of ownNodes(loops, outgoing).contested) {
    const node = draft.nodes.get(nodeId);
    const message = `Node "${nodeId}" is in the bodies of both "${claimants.join('" and "')}"; give each its own.`;
    if (node !== undefined) issues.error('OVERLAPPING_BODIES', placeOf(node), message);
  }
}

function checkComponents(draft: Draft, issues: IssueList): void {
  const neighbours = new Map(
    nodesOf(draft).map(({ id, incoming, outgoing }) => [
      id,
      [...outgoing, ...incoming.map(({ source }) => ({ target: source }))],
    ]),
  );
  const seen = reachableFrom(
    nodesOf(draft)
      .filter(({ type }) => type === 'start')
      .map(({ id }) => id),
    neighbours,
  );
  const hasStart = seen.size > 0;
  let apart = 0;
  for (const id of draft.nodes.keys()) {
    if (seen.has(id)) continue;
    apart += 1;
    for (const found of reachableFrom([id], neighbours)) seen.add(found);
  }
  if (apart === 0 || (apart === 1 && !hasStart)) return;
  const message = `${apart} ${apart === 1 ? 'part' : 'parts'} of the workflow ${apart === 1 ? 'has' : 'have'} no connection to the start.`;
  issues.warning('DISCONNECTED_COMPONENTS', { path: ['nodes'] }, message);
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * One circle, as the ids on it in the direction of its edges, beginning with the one that comes first in `nodeIds`. `sorted` are
 * the nodes that have a topological order: all others are on a circle or behind one, so each has such a node before it, and going
 * back from one to the next must meet a node twice.
 */
export function findCycle(
  nodeIds: Iterable<string>,
  links: readonly Link[],
  sorted: ReadonlySet<string>,
): readonly string[] {
  const before = new Map<string, string>();
  for (const { source, target } of links) if (!sorted.has(source) && !before.has(target)) before.set(target, source);
  const ids = [...nodeIds];
  let nodeId = ids.find((id) => !sorted.has(id));
  const walked = new Map<string, number>();
  while (nodeId !== undefined && !walked.has(nodeId)) {
    walked.set(nodeId, walked.size);
    nodeId = before.get(nodeId);
  }
  if (nodeId === undefined) return [];
  const circle = new Set([...walked.keys()].slice(walked.get(nodeId)).reverse());
  const cycle = [...circle];
  const first = cycle.indexOf(ids.find((id) => circle.has(id)) ?? nodeId);
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}
