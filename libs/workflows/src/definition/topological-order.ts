interface Link {
  readonly source: string;
  readonly target: string;
}

/** Every node after all nodes that lead to it; those in or behind a circle are left out. Ties go by the given order. */
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
  // The list grows while it is walked.
  for (const nodeId of order)
    for (const target of outgoing.get(nodeId) ?? []) {
      const left = (open.get(target) ?? 0) - 1;
      open.set(target, left);
      if (left === 0) order.push(target);
    }
  return order;
}
