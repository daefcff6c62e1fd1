import type { GraphEdge, WorkflowGraph } from '../definition/graph.js';

/** What has come to a node along the edges it waits on. */
interface Arrivals {
  /** Edges whose source is not settled yet. */
  open: number;
  /** When it was first reached, by rank; 0: not so far. */
  reachedAt: number;
  readonly taken: Set<GraphEdge>;
}

/** What is known of the nodes of a scope after a wave. */
export interface NextWave {
  /** All their parents are settled and an edge to them was taken; in the order in which they were first reached. */
  readonly ready: readonly string[];
  /** All their parents are settled and no edge to them was taken. */
  readonly skipped: readonly string[];
}

/** Counts which nodes of one level are ready. Visits every edge once, however many nodes there are. */
export class Readiness {
  private readonly arrivals = new Map<string, Arrivals>();
  private reached = 0;
  private handedOut = 0;
  private ready: string[] = [];
  private refused: string[] = [];

  /** `level`: the loop or map whose body it is about; null: the top. */
  constructor(
    private readonly graph: WorkflowGraph,
    private readonly level: string | null,
  ) {}

  /** Marks a node as reached from outside, regardless of its parents; it still waits for the parents that are not settled. */
  force(nodeId: string): void {
    const arrivals = this.of(nodeId);
    this.reach(arrivals);
    if (arrivals.open === 0) this.ready.push(nodeId);
  }

  /** An edge has been settled. */
  arrive(edge: GraphEdge, isTaken: boolean): void {
    const arrivals = this.of(edge.target);
    arrivals.open -= 1;
    if (isTaken) {
      arrivals.taken.add(edge);
      this.reach(arrivals);
    }
    if (arrivals.open === 0) (arrivals.reachedAt > 0 ? this.ready : this.refused).push(edge.target);
  }

  /** Settles a node that has taken these of its edges. Returns whether one of them stays on the level. */
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
    // The list grows while it is walked: what follows on a skipped node alone is skipped as well.
    for (const nodeId of this.refused) this.settle(nodeId, []);
    const rank = (nodeId: string): number => this.of(nodeId).reachedAt;
    const next = { ready: this.ready.sort((a, b) => rank(a) - rank(b)), skipped: this.refused };
    this.handedOut += next.ready.length;
    this.ready = [];
    this.refused = [];
    return next;
  }

  /** With nothing left to run: some reached nodes can never run, because the graph has a cycle. */
  get isStuck(): boolean {
    return this.reached > this.handedOut;
  }

  /** The outputs of the parents along the taken edges, in document order, each once, without empty texts. */
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

/** Texts of several nodes as one. */
export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}
