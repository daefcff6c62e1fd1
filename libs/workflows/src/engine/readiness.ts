import type { GraphEdge, WorkflowGraph } from '../definition/graph.js';

/** The state of a node's incoming edges. */
interface Arrivals {
  /** Edges whose source is not settled yet. */
  open: number;
  /** The rank at which the node was first reached; 0: it was not reached yet. */
  reachedAt: number;
  readonly taken: Set<GraphEdge>;
}

/** The nodes of a scope that a wave has decided. */
export interface NextWave {
  /** Nodes whose sources are all settled and that a taken edge leads to, in the order in which they were first reached. */
  readonly ready: readonly string[];
  /** Nodes whose sources are all settled and that no taken edge leads to. */
  readonly skipped: readonly string[];
}

/** Counts which nodes of one level are ready. Visits every edge once, however many nodes there are. */
export class Readiness {
  private readonly arrivals = new Map<string, Arrivals>();
  private reached = 0;
  private handedOut = 0;
  private ready: string[] = [];
  private refused: string[] = [];

  /** `level`: the loop or map whose body this is; null: the top level. */
  constructor(
    private readonly graph: WorkflowGraph,
    private readonly level: string | null,
  ) {}

  /** Marks a node as reached from outside. It still waits for sources that are not settled. */
  force(nodeId: string): void {
    const arrivals = this.of(nodeId);
    this.reach(arrivals);
    if (arrivals.open === 0) this.ready.push(nodeId);
  }

  /** Settles an edge. */
  arrive(edge: GraphEdge, isTaken: boolean): void {
    const arrivals = this.of(edge.target);
    arrivals.open -= 1;
    if (isTaken) {
      arrivals.taken.add(edge);
      this.reach(arrivals);
    }
    if (arrivals.open === 0) (arrivals.reachedAt > 0 ? this.ready : this.refused).push(edge.target);
  }

  /** Settles a node that took these edges. Returns whether one of them stays on the level. */
  settle(nodeId: string, edges: readonly GraphEdge[], counts = this.isOnLevel): boolean {
    const taken = new Set(edges);
    let staysOn = false;
    for (const edge of this.graph.outgoing.get(nodeId) ?? []) {
      if (!counts(edge.target)) continue;
      this.arrive(edge, taken.has(edge));
      staysOn ||= taken.has(edge);
    }
    return staysOn;
  }

  readonly isOnLevel = (nodeId: string): boolean => (this.graph.owners.get(nodeId) ?? null) === this.level;

  next(): NextWave {
    // The loop appends to the list that it iterates: nodes that depend only on skipped nodes are skipped, too.
    for (const nodeId of this.refused) this.settle(nodeId, []);
    const rank = (nodeId: string): number => this.of(nodeId).reachedAt;
    const next = { ready: this.ready.sort((a, b) => rank(a) - rank(b)), skipped: this.refused };
    this.handedOut += next.ready.length;
    this.ready = [];
    this.refused = [];
    return next;
  }

  /** Returns whether reached nodes can never run because the graph has a cycle. Called when nothing is left to run. */
  get isStuck(): boolean {
    return this.reached > this.handedOut;
  }

  /** Returns the outputs of the sources of the taken edges, in document order, each once, without empty texts. */
  inputOf(nodeId: string, handedOn: ReadonlyMap<string, string>): string {
    const { taken } = this.of(nodeId);
    const edges = (this.graph.incoming.get(nodeId) ?? []).filter((edge) => taken.has(edge));
    const parents = [...new Set(edges.map(({ source }) => source))];
    return joined(parents.map((parent) => handedOn.get(parent) ?? ''));
  }

  wasTakenTo(nodeId: string): boolean {
    return this.of(nodeId).taken.size > 0;
  }

  private reach(arrivals: Arrivals): void {
    if (arrivals.reachedAt > 0) return;
    this.reached += 1;
    arrivals.reachedAt = this.reached;
  }

  private of(nodeId: string): Arrivals {
    const known = this.arrivals.get(nodeId);
    if (known !== undefined) return known;
    const open = this.graph.incoming.get(nodeId)?.length ?? 0;
    const arrivals: Arrivals = { open, reachedAt: 0, taken: new Set() };
    this.arrivals.set(nodeId, arrivals);
    return arrivals;
  }
}

/** Joins the texts of several nodes. */
export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}
