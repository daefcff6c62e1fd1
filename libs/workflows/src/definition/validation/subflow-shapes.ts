import { type DocumentNode, parseDocument, type SubflowInput, type SubflowOutput } from '../document.js';
import { memberOf } from '../json.js';
import { LIMITS } from '../limits.js';

/** The parts of a definition that the workflows that use it need. */
export interface SubflowShape {
  readonly inputs: readonly SubflowInput[];
  readonly outputs: readonly SubflowOutput[];
  /** The subflows that it uses directly. */
  readonly uses: readonly string[];
  /** The agents that its own nodes name. */
  readonly agents: readonly string[];
}

/** The JSON of the definition; undefined: the definition does not exist. */
export type SubflowLookup = (subflowId: string) => unknown;

/** The depth of a chain of subflows, or the cycle in it. */
export type Nesting =
  | { readonly type: 'ends'; readonly depth: number }
  /** The ids on the cycle, beginning with the repeated id. */
  | { readonly type: 'circle'; readonly ids: readonly string[] }
  | { readonly type: 'too_many' };

/** Reads each definition once. */
export class SubflowShapes {
  private readonly known = new Map<string, SubflowShape | null>();
  private readonly depths = new Map<string, number>();

  constructor(private readonly lookup: SubflowLookup) {}

  /** Null: the subflow does not exist or is not a workflow. */
  get(subflowId: string): SubflowShape | null {
    const known = this.known.get(subflowId);
    if (known !== undefined) return known;
    const shape = toShape(this.lookup(subflowId));
    this.known.set(subflowId, shape);
    return shape;
  }

  /** The agents that a subflow names, and all that it uses; `above` as in `nesting`. */
  agentsOf(subflowId: string, above: string | null): ReadonlySet<string> {
    const agents = new Set<string>();
    const behind = new Set([subflowId]);
    for (const id of behind) {
      const shape = id === above ? null : this.get(id);
      for (const name of shape?.agents ?? []) agents.add(name);
      for (const used of shape?.uses ?? []) if (behind.size <= LIMITS.subflows) behind.add(used);
    }
    return agents;
  }

  /**
   * Returns the depth of a subflow, itself included; stops soon after the allowed depth. `above` is the workflow that uses it; null: that workflow
   * has no id yet.
   */
  nesting(subflowId: string, above: string | null): Nesting {
    const path: string[] = above === null ? [] : [above];
    const stack = [{ id: subflowId, next: 0, depth: 0 }];
    if (subflowId === above) return { type: 'circle', ids: path };
    path.push(subflowId);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const child = this.depths.has(top.id) ? undefined : this.get(top.id)?.uses[top.next++];
      if (child === undefined) {
        const depth = this.depths.get(top.id) ?? top.depth + 1;
        this.depths.set(top.id, depth);
        stack.pop();
        path.pop();
        const parent = stack.at(-1);
        if (parent === undefined) return { type: 'ends', depth };
        parent.depth = Math.max(parent.depth, depth);
        continue;
      }
      if (path.includes(child)) return { type: 'circle', ids: path.slice(path.indexOf(child)) };
      if (stack.length > LIMITS.subflowDepth) return { type: 'ends', depth: stack.length };
      if (this.known.size > LIMITS.subflows) return { type: 'too_many' };
      stack.push({ id: child, next: 0, depth: 0 });
      path.push(child);
    }
    return { type: 'ends', depth: 0 };
  }
}

function toShape(json: unknown): SubflowShape | null {
  const parsed = parseDocument(json);
  if (!parsed.ok) return null;
  const { meta, nodes } = parsed.document;
  return { ...meta.subflow, uses: namesIn(nodes, 'subflow', 'subflowId'), agents: namesIn(nodes, 'agent', 'agent') };
}

function namesIn(nodes: readonly DocumentNode[], wanted: string, member: string): readonly string[] {
  const named = nodes.filter(({ type }) => type === wanted).map(({ data }) => memberOf(data, member));
  return [...new Set(named.filter((name) => typeof name === 'string'))];
}
