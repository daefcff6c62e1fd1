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
