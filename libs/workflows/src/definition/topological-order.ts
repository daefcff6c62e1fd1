interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Returns every node after all nodes that lead to it. Nodes on a cycle, or after one, are left out. Nodes without an order between them keep the
 * given order.
 */
export function topologicalOrder(nodeIds: Iterable<string>, links: readonly Link[]): readonly string[] {
  const open = new Map<string, number>();
  const outgoing = new Map<string, string[]>();
  for (const nodeId of nodeIds) {
    open.set(nodeId, 0);
    outgoing.set(nodeId, []);
  }
  for (const { source, target } of links) {
    const before = open.get(target);
    const targets = outgoing.get(source);
    if (before === undefined || targets === undefined) continue;
    open.set(target, before + 1);
    targets.push(target);
  }
  const order = [...open].filter(([, count]) => count === 0).map(([nodeId]) => nodeId);
  // The loop appends to the list that it iterates.
  for (const nodeId of order)
    for (const target of outgoing.get(nodeId) ?? []) {
      const left = (open.get(target) ?? 0) - 1;
      open.set(target, left);
      if (left === 0) order.push(target);
    }
  return order;
}
