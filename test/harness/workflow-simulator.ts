import type { WorkflowGraph } from '../../libs/workflows/src/definition/graph.js';
import type { ScopeView } from '../../libs/workflows/src/engine/node-executor.js';
import type { NodeKey, NodeRunRow, Settlement } from '../../libs/workflows/src/engine/node-run.js';
import type { DecideCommand, RunCommand, RunResult } from '../../libs/workflows/src/engine/run-command.js';
import type { RunEvent } from '../../libs/workflows/src/engine/run-event.js';
import type { RunPlan } from '../../libs/workflows/src/engine/run-plan.js';
import { WorkflowRun } from '../../libs/workflows/src/engine/workflow-run.js';

/** How a node does its work: a text is its output; `{ fail }` its failure; null: it waits. */
export type Done = string | Partial<Settlement> | { readonly fail: string } | null;

/** The behavior of the external world. */
export interface World {
  readonly work?: (run: NodeRunRow, view: ScopeView) => Done;
  readonly decide?: (asked: DecideCommand) => boolean;
  readonly list?: (run: NodeRunRow) => readonly string[];
  /** The index of the working node that ends next. */
  readonly pick?: (count: number) => number;
  /** Types whose rows are written once, when they have ended. */
  readonly pure?: ReadonlySet<string>;
}

type Work = Extract<RunCommand, { type: 'run' | 'decide' | 'list' }>;

/** One life of a run in memory: its commands, its writes, and the nodes that were at work when it stopped. */
export class Simulation {
  readonly run: WorkflowRun;
  /** Every write of a row, in order. */
  readonly writes: NodeRunRow[] = [];
  readonly commands: RunCommand[] = [];
  readonly atWork: Work[] = [];
  /** The views of node runs; grows after they have ended. */
  readonly views = new Map<string, ScopeView>();
  private readonly waiting: NodeKey[] = [];
  result: RunResult | null = null;

  constructor(
    plan: RunPlan,
    private readonly world: World = {},
    rows: readonly NodeRunRow[] = [],
  ) {
    this.run = new WorkflowRun(plan, rows);
  }

  start(): this {
    this.take(this.run.start());
    return this;
  }

  /** Until it ends, or no node is at work and no waiting node is resumed. */
  finish({ answering = false } = {}): this {
    while (this.result === null && this.atWork.length > 0) {
      this.step();
      if (answering && this.run.resting) this.answer();
    }
    return this;
  }

  /** Resolves every waiting node. */
  answer(): void {
    for (const key of this.waiting.splice(0)) this.send({ type: 'resumed', key });
  }

  /** Lets one running node report its outcome. */
  step(): void {
    const [work] = this.atWork.splice(this.world.pick?.(this.atWork.length) ?? 0, 1);
    if (work === undefined) return;
    const event = this.report(work);
    if (event.type === 'waiting') this.waiting.push(event.key);
    this.send(event);
  }

  send(event: RunEvent): readonly RunCommand[] {
    const commands = this.run.handle(event);
    this.take(commands);
    return commands;
  }

  /** The node with this id, at work. */
  settle(nodeId: string, done: Done, iteration: readonly number[] = []): void {
    const at = this.atWork.findIndex(({ run }) => isKey(run, { nodeId, iteration }));
    const [work] = at < 0 ? [] : this.atWork.splice(at, 1);
    if (work === undefined) throw new Error(`not at work: ${nodeId}`);
    this.send(toEvent(work.run, done));
  }

  /** The rows after this number of writes; absent: after all. */
  rows(writes = this.writes.length): readonly NodeRunRow[] {
    const rows = new Map(this.writes.slice(0, writes).map((row) => [row.ordinal, row]));
    return [...rows.values()].sort((a, b) => a.ordinal - b.ordinal);
  }

  row(nodeId: string, iteration: readonly number[] = []): NodeRunRow {
    const row = this.rows().find((candidate) => isKey(candidate, { nodeId, iteration }));
    if (row === undefined) throw new Error(`no row: ${nodeId}`);
    return row;
  }

  /** The ids of the node runs given to executors, in order. */
  get handedOut(): readonly string[] {
    return this.commands.flatMap((command) => (command.type === 'run' ? [command.run.nodeId] : []));
  }

  get working(): readonly string[] {
    return this.atWork.map(({ run }) => run.nodeId);
  }

  of<T extends RunCommand['type']>(type: T): readonly Extract<RunCommand, { type: T }>[] {
    return this.commands.filter((command): command is Extract<RunCommand, { type: T }> => command.type === type);
  }

  private take(commands: readonly RunCommand[]): void {
    for (const command of commands) {
      this.commands.push(command);
      if (this.result !== null) throw new Error('a command after the end');
      if (command.type === 'store') this.writes.push(command.run);
      if (command.type === 'run' && command.isNew && this.world.pure?.has(command.run.type) !== true)
        this.writes.push(command.run);
      if (command.type === 'run' || command.type === 'decide' || command.type === 'list') this.begin(command);
      if (command.type === 'cancel') this.drop(command.keys);
      if (command.type === 'end') this.result = command.result;
    }
  }

  private begin(work: Work): void {
    const view = this.run.viewOf(work.run);
    if (view !== undefined) this.views.set(keyOf(work.run), view);
    this.atWork.push(work);
  }

  private drop(keys: readonly NodeKey[]): void {
    for (const key of keys) {
      const at = this.atWork.findIndex(({ run }) => isKey(run, key));
      if (at >= 0) this.atWork.splice(at, 1);
    }
  }

  private report(work: Work): RunEvent {
    const key = { nodeId: work.run.nodeId, iteration: work.run.iteration };
    if (work.type === 'list') return { type: 'listed', key, items: this.world.list?.(work.run) ?? [] };
    if (work.type === 'decide') {
      const continues = this.world.decide?.(work) ?? false;
      return { type: 'decided', key, iteration: work.iteration, continues };
    }
    const view = this.run.viewOf(key);
    if (view === undefined) throw new Error(`no view: ${work.run.nodeId}`);
    return toEvent(work.run, (this.world.work ?? echo)(work.run, view));
  }
}

export function keyOf({ nodeId, iteration }: NodeKey): string {
  return [nodeId, ...iteration].join('#');
}

/** A plan without failures. */
export function planOf(graph: WorkflowGraph, more: Partial<RunPlan> = {}): RunPlan {
  return {
    graph,
    subflows: new Map(),
    input: 'hello',
    sessionId: 's1',
    history: [],
    attachments: [],
    maxSteps: null,
    ...more,
  };
}

/** A whole run, from its start to its end. */
export function simulate(graph: WorkflowGraph, world: World = {}, more: Partial<RunPlan> = {}): Simulation {
  return new Simulation(planOf(graph, more), world).start().finish();
}

function echo({ nodeId, input }: NodeRunRow): string {
  return `${nodeId}(${input})`;
}

function isKey(run: NodeKey, key: NodeKey): boolean {
  return keyOf(run) === keyOf(key);
}

function toEvent({ nodeId, iteration }: NodeKey, done: Done): RunEvent {
  const key = { nodeId, iteration };
  if (done === null) return { type: 'waiting', key };
  if (typeof done === 'string') return toEvent(key, { output: done });
  if ('fail' in done) return { type: 'failed', key, error: { message: done.fail, code: 'UNKNOWN' } };
  return { type: 'settled', key, settlement: { output: '', handles: ['output'], handOn: 'output', ...done } };
}
