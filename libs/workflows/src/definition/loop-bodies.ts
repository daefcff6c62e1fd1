/** An edge, as far as bodies go. */
interface Link {
  readonly source: string;
  readonly target: string;
  readonly handle: string | null;
}

/** Which loop or map each node belongs to. */
export interface Ownership {
  /** The innermost loop or map whose body a node is in; a node that is not in here belongs to the top. */
  readonly owners: ReadonlyMap<string, string>;
  /** Nodes that two loops claim of which neither is inside of the other. */
  readonly contested: readonly { readonly nodeId: string; readonly loops: readonly [string, string] }[];
}

/**
 * Bodies: all that a loop's `body` edges lead to and its `done` edges do not. `loops` are in topological order, so what is
 * outside comes before what is inside. Linear for each loop.
 */
export function ownNodes(loops: readonly string[], outgoing: ReadonlyMap<string, readonly Link[]>): Ownership {
  const owners = new Map<string, string>();
  const bodies = new Map<string, ReadonlySet<string>>();
  const contested: { nodeId: string; loops: readonly [string, string] }[] = [];
  for (const loop of loops) {
    const body = bodyOf(loop, outgoing);
    bodies.set(loop, body);
    for (const nodeId of body) {
      const owner = owners.get(nodeId);
      if (owner === undefined || bodies.get(owner)?.has(loop) === true) owners.set(nodeId, loop);
      else contested.push({ nodeId, loops: [owner, loop] });
    }
  }
  return { owners, contested };
}

function bodyOf(loop: string, outgoing: ReadonlyMap<string, readonly Link[]>): ReadonlySet<string> {
  const links = outgoing.get(loop) ?? [];
  const targets = (isWanted: (link: Link) => boolean): readonly string[] =>
    links.filter(isWanted).map(({ target }) => target);
  const after = reachableFrom(
    targets(({ handle }) => handle === 'done' || handle === null),
    outgoing,
  );
  const body = reachableFrom(
    targets(({ handle }) => handle === 'body'),
    outgoing,
  );
  for (const nodeId of after) body.delete(nodeId);
  body.delete(loop);
  return body;
}

/** The nodes themselves and all behind them. */
export function reachableFrom(
  nodeIds: readonly string[],
  outgoing: ReadonlyMap<string, readonly { readonly target: string }[]>,
): Set<string> {
  const reached = new Set(nodeIds);
  // A set hands out what is added while it is walked.
  for (const nodeId of reached) for (const { target } of outgoing.get(nodeId) ?? []) reached.add(target);
  return reached;
}
