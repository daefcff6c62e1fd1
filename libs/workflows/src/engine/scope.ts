import { edgesOnward } from '../definition/edge-lookup.js';
import type { GraphEdge, WorkflowGraph } from '../definition/graph.js';
import type { EngineState } from './engine-state.js';
import { type Container, LiveRun, type NodeRunScope } from './live-run.js';
import { isFinished, spoke } from './node-run.js';
import { edgesTaken, handedOn, handlesOf, type NodeFailed, refusal, stopsAll } from './outcome.js';
import { joined, Readiness } from './readiness.js';
import type { FinishedNode } from './run-plan.js';
import type { ScopeMemory } from './scope-memory.js';

export type ScopeEnd =
  | { readonly type: 'completed' }
  /** `run`: the node that failed; null: no node failed. */
  | { readonly type: 'failed'; readonly failure: NodeFailed; readonly run: LiveRun | null };

export interface ScopeOptions extends Omit<NodeRunScope, 'ended'> {
  readonly state: EngineState;
  /** The loop or map whose body this scope runs; null: the top level of its graph. */
  readonly level: string | null;
  /** The node run around this scope; null: the run of the job. */
  readonly owner: LiveRun | null;
  /** The inside of a container node; null: the node has an executor. */
  readonly containerOf: (run: LiveRun, around: ScopeOptions) => Container | null;
  readonly onEnd: (end: ScopeEnd) => void;
}

/** The start of a scope that takes over the results of an earlier one. */
export interface TakenOver {
  readonly finished: readonly FinishedNode[];
  /** All nodes that run. */
  readonly again: ReadonlySet<string>;
  /** The nodes among them that run regardless of their parents. */
  readonly forced: readonly string[];
  /** Inputs that replace those from the parents. */
  readonly given: ReadonlyMap<string, string>;
  /** The input of a node without one. */
  readonly text: string;
  /** The responses of these nodes are in the conversation already. */
  readonly isInSession: boolean;
}

/** The message that the format prescribes for a graph that cannot reach its end. */
const CYCLE_MESSAGE = 'Workflow execution exceeded maximum iterations - check for cycles';

/**
 * One pass through a graph, or through a body, in waves: all ready nodes run at once, and the next wave is computed when the last of them has ended.
 * Nothing depends on the order in which they end.
 */
export class Scope implements NodeRunScope {
  readonly graph: WorkflowGraph;
  readonly memory: ScopeMemory;
  readonly prefix: string;
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  readonly depth: number;
  /** The executed nodes, in execution order. */
  readonly outputs = new Map<string, string>();
  private readonly state: EngineState;
  private readonly readiness: Readiness;
  private readonly handedOn = new Map<string, string>();
  private given: ReadonlyMap<string, string> = new Map();
  private text = '';
  private readonly noted = new Set<string>();
  private readonly ends: string[] = [];
  private wave: readonly LiveRun[] = [];
  private open = 0;
  private isOver = false;

  constructor(private readonly options: ScopeOptions) {
    ({
      graph: this.graph,
      memory: this.memory,
      prefix: this.prefix,
      path: this.path,
      iteration: this.iteration,
      depth: this.depth,
      state: this.state,
    } = options);
    this.readiness = new Readiness(options.graph, options.level);
  }

  /** Begins at the start node. */
  enter(text: string): void {
    this.text = text;
    this.readiness.force(this.graph.start);
    this.advance();
  }

  /** Begins after a loop or a map, along its edges into its body. */
  enterBody(owner: string, entries: readonly GraphEdge[], text: string): void {
    this.handedOn.set(owner, text);
    for (const edge of entries) this.readiness.arrive(edge, true);
    this.advance();
  }

  /** Continues from an earlier run. */
  takeOver({ finished, again, forced, given, text, isInSession }: TakenOver): void {
    this.text = text;
    this.given = given;
    for (const nodeId of forced) this.readiness.force(nodeId);
    const edges = new Map(finished.map((node) => [node.nodeId, this.reuse(node, isInSession)]));
    const counts = (nodeId: string): boolean => again.has(nodeId) && this.readiness.isOnLevel(nodeId);
    for (const nodeId of this.nodeIds)
      if (!again.has(nodeId)) this.readiness.settle(nodeId, edges.get(nodeId) ?? [], counts);
    this.advance();
  }

  /** Returns the output of the node that is last in execution order. */
  get finalOutput(): string {
    return [...this.outputs.values()].at(-1) ?? '';
  }

  /** Returns the outputs of the nodes whose taken edges lead to no other node of this scope. */
  get endings(): string {
    return joined(this.ends);
  }

  /** Returns all unfinished node runs inside. */
  *unfinished(): Generator<LiveRun> {
    for (const run of this.wave) {
      if (run.isOver) continue;
      yield run;
      if (run.container !== null) yield* run.container.unfinished();
    }
  }

  ended(run: LiveRun): void {
    if (this.isOver) return;
    if (stopsAll(run.node, run.row)) {
      this.fail(run);
      return;
    }
    this.open -= 1;
    if (this.open === 0) this.defer(this.endWave);
  }

  private readonly endWave = (): void => {
    for (const run of this.wave) {
      const { node, row } = run;
      this.remember(run);
      this.handedOn.set(node.id, handedOn(row));
      const hasNext = this.readiness.settle(node.id, edgesTaken(this.graph, node, row));
      if (!hasNext) this.ends.push(row.output ?? '');
    }
    this.advance();
  };

  private advance(): void {
    const { ready, skipped } = this.readiness.next();
    for (const nodeId of skipped) this.skip(nodeId);
    if (ready.length > 0) this.beginWave(ready);
    else this.defer(this.finish);
  }

  private beginWave(nodeIds: readonly string[]): void {
    const runs = nodeIds.flatMap((nodeId) => this.toRun(nodeId));
    this.wave = runs;
    this.open = runs.length;
    for (const run of runs) this.state.open(run);
    for (const run of runs) if (!run.isOver && !isFinished(run.row.status)) this.begin(run);
    // The failure that stopped the earlier lease is handled last, because results of its siblings count.
    for (const run of runs) if (!run.isOver && run.row.status === 'completed') this.begin(run);
    for (const run of runs) if (!run.isOver && run.row.status === 'error') this.state.recall(run);
  }

  private begin(run: LiveRun): void {
    run.container = this.options.containerOf(run, this.options);
    if (run.container !== null) run.container.begin();
    else if (isFinished(run.row.status)) this.state.recall(run);
    else this.state.work(run);
  }

  private readonly finish = (): void => {
    this.isOver = true;
    const end: ScopeEnd = this.readiness.isStuck
      ? { type: 'failed', failure: refusal(CYCLE_MESSAGE), run: null }
      : { type: 'completed' };
    this.options.onEnd(end);
  };

  /** Ends at once: running nodes are cancelled, and all others are skipped. */
  private fail(run: LiveRun): void {
    this.isOver = true;
    this.state.cancel(this.unfinished());
    for (const { node, row } of this.wave) if (row.ordinal > 0) this.noted.add(node.id);
    for (const nodeId of this.nodeIds) if (!this.noted.has(nodeId)) this.skip(nodeId);
    for (const sibling of this.wave) if (sibling.row.status === 'completed') this.remember(sibling);
    const { error } = run.row;
    const failure = error === null ? refusal('') : { error };
    this.defer(() => {
      this.options.onEnd({ type: 'failed', failure, run });
    });
  }

  /** Adds an executed node to what later nodes see. */
  private remember({ node, row, container }: Pick<LiveRun, 'node' | 'row' | 'container'>, isInSession = false): void {
    const { id, label, type } = node;
    const output = row.output ?? '';
    if (container !== null && container.kept !== null && row.status === 'completed') this.memory.absorb(container.kept);
    this.noted.add(id);
    this.outputs.set(id, output);
    const response = spoke(row) && !isInSession ? output : null;
    this.memory.add({ nodeId: id, label, type, output, outputs: row.extra.outputs ?? {}, response });
  }

  /** Takes the edges that a node took in the earlier run. */
  private reuse({ nodeId, extra, ...ended }: FinishedNode, isInSession: boolean): readonly GraphEdge[] {
    const node = this.graph.nodes.get(nodeId);
    if (node === undefined) return [];
    const place = { graph: this.graph, node };
    const handles = ended.handles ?? handlesOf(place, edgesOnward(this.graph, nodeId));
    const end = { ...ended, handles, status: 'completed', extra: { ...extra, isReused: true } } as const;
    const row = this.state.note(node, this, end);
    this.remember({ node, row, container: null }, isInSession);
    this.handedOn.set(nodeId, handedOn(row));
    return edgesTaken(this.graph, node, row);
  }

  private skip(nodeId: string): void {
    const node = this.graph.nodes.get(nodeId);
    if (node === undefined) return;
    this.noted.add(nodeId);
    this.state.note(node, this, { status: 'skipped', handles: [], handOn: 'nothing' });
  }

  private toRun(nodeId: string): readonly LiveRun[] {
    const node = this.graph.nodes.get(nodeId);
    return node === undefined ? [] : [new LiveRun(node, this, this.inputOf(nodeId))];
  }

  private inputOf(nodeId: string): string {
    const given = this.given.get(nodeId);
    if (given !== undefined) return given;
    return this.readiness.wasTakenTo(nodeId) ? this.readiness.inputOf(nodeId, this.handedOn) : this.text;
  }

  /** In document order. */
  private get nodeIds(): readonly string[] {
    const { level } = this.options;
    if (level !== null) return this.graph.bodies.get(level)?.nodeIds ?? [];
    return [...this.graph.nodes.keys()].filter(this.readiness.isOnLevel);
  }

  /** Runs `step` later, unless its container has ended. */
  private defer(step: () => void): void {
    this.state.defer(() => {
      if (this.options.owner?.isOver !== true) step();
    });
  }
}
