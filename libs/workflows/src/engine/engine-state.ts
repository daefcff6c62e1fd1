import type { GraphNode } from '../definition/graph.js';
import { LIMITS } from '../definition/limits.js';
import { LiveRun, type NodeRunScope, textOf } from './live-run.js';
import { isFinished, type NodeKey, type NodeRunRow, type Settlement } from './node-run.js';
import { NodeSlots } from './node-slots.js';
import { completed, failed, type NodeFailed } from './outcome.js';
import type { Rows } from './rows.js';
import type { RunCommand, RunResult } from './run-command.js';

/** Why a run ends before all its nodes have ended. */
export interface Halt {
  readonly status: 'failed' | 'cancelled';
  readonly code: string;
  readonly message: string;
}

/**
 * The state that all scopes and containers of a run share: running node runs, used ordinals, and commands to emit. Follow-up steps are queued and
 * run one after the other, so the call stack stays shallow.
 */
export class EngineState {
  private readonly atWork = new Map<string, LiveRun>();
  private commands: RunCommand[] = [];
  private later: (() => void)[] = [];
  readonly slots: NodeSlots;
  /** If set, no node run begins any more, and the run is about to end. */
  halt: Halt | null = null;
  private exhaustedSent = false;

  constructor(
    private readonly rows: Rows,
    private readonly maxSteps: number | null,
  ) {
    this.slots = new NodeSlots(LIMITS.nodesAtOnce, () => this.mayBegin());
  }

  get steps(): number {
    return this.rows.steps;
  }

  find(key: NodeKey): LiveRun | undefined {
    return this.atWork.get(textOf(key));
  }

  emit(command: RunCommand): void {
    this.commands.push(command);
  }

  /** Runs `step` after the current step. */
  defer(step: () => void): void {
    this.later.push(step);
  }

  /** Runs all queued follow-up steps; returns the commands to emit. */
  followUp(): readonly RunCommand[] {
    do {
      this.drain();
      if (this.halt === null) this.slots.fill();
    } while (this.later.length > 0 && this.halt === null);
    return this.takeCommands();
  }

  /** Runs all deferred steps; starts no node. */
  drain(): void {
    // The loop appends to the list that it iterates.
    for (const step of this.later) if (this.halt === null) step();
    this.later = [];
  }

  /** Returns the commands collected so far. */
  takeCommands(): readonly RunCommand[] {
    const commands = this.commands;
    this.commands = [];
    return commands;
  }

  /** Restores the stored row; from now on `find` returns this run. */
  open(run: LiveRun): void {
    this.atWork.set(textOf(run.row), run);
    const row = this.rows.take(run.row);
    if (row === undefined) return;
    run.row = row;
    run.isKnown = true;
  }

  /** Queues a node for its executor, which runs it as soon as a slot is free. */
  work(run: LiveRun): void {
    this.slots.enter(run, () => {
      const isNew = run.row.ordinal === 0;
      if (this.begin(run)) this.emit({ type: 'run', run: run.row, isNew });
    });
  }

  /** A container needs no slot, because the nodes inside it have their own. Returns false if the run has no ordinals left. */
  beginContainer(run: LiveRun): boolean {
    const isNew = run.row.ordinal === 0;
    if (!this.begin(run)) return false;
    if (isNew) this.emit({ type: 'store', run: run.row });
    return true;
  }

  /** Records a node that this run does not execute: it was skipped, or an earlier run executed it. */
  note(node: GraphNode, scope: NodeRunScope, end: Partial<NodeRunRow>): NodeRunRow {
    const { row } = new LiveRun(node, scope, '');
    const known = this.rows.take(row);
    if (known !== undefined) return known;
    const noted = { ...row, ...end };
    const stored = this.numbered(noted);
    if (stored !== null) this.emit({ type: 'store', run: stored });
    return stored ?? noted;
  }

  /** Stores the changed row of an unfinished node run. */
  change(run: LiveRun, changed: Partial<NodeRunRow>): void {
    if (isFinished(run.row.status)) return;
    run.row = { ...run.row, ...changed };
    this.emit({ type: 'store', run: run.row });
  }

  /** Records that a node succeeded. */
  complete(run: LiveRun, settlement: Settlement): void {
    this.close(run, completed(run.row, settlement));
  }

  /** Records that a node failed. Its error mode and its edges determine what runs next. */
  fail(run: LiveRun, failure: NodeFailed): void {
    this.close(run, failed(run.row, failure, { graph: run.scope.graph, node: run.node }));
  }

  /** Continues after a node run that ended under an earlier lease. */
  recall(run: LiveRun): void {
    this.close(run, run.row);
  }

  /** Ends these node runs without notifying their scopes. A node run that had not begun leaves no row. */
  cancel(runs: Iterable<LiveRun>): void {
    const all = [...runs];
    const working = all.filter(({ slot }) => slot === 'taken' || slot === 'waiting');
    if (working.length > 0) this.emit({ type: 'cancel', keys: working.map(({ key }) => key) });
    for (const run of all) {
      this.leave(run);
      if (run.row.ordinal > 0) this.change(run, cancelled(run.row));
    }
  }

  /** Emits the last command. */
  end(result: RunResult): void {
    for (const row of this.rows.unfinished) this.emit({ type: 'store', run: cancelled(row) });
    this.emit({ type: 'end', result });
  }

  /** Halts the run if it reached its limit of node runs under an earlier lease and the worker crashed before it stored the failure. */
  haltIfCut(unfinished: Iterable<LiveRun>): void {
    if (this.rows.left > 0) return;
    for (const { row } of unfinished) if (row.status === 'cancelled') this.halt = TOO_MANY;
  }

  /** Assigns an ordinal to a node run. Returns false if there are none left. */
  private begin(run: LiveRun): boolean {
    if (run.row.ordinal > 0) return true;
    const row = this.numbered({ ...run.row, status: 'active' });
    if (row === null) return false;
    run.row = row;
    return true;
  }

  private close(run: LiveRun, row: NodeRunRow): void {
    if (run.isOver) return;
    this.leave(run);
    if (isFinished(run.row.status)) {
      run.scope.ended(run);
      return;
    }
    run.row = row;
    this.emit({ type: 'store', run: row });
    run.scope.ended(run);
  }

  private leave(run: LiveRun): void {
    run.isOver = true;
    this.atWork.delete(textOf(run.row));
    this.slots.leave(run);
  }

  private numbered(row: NodeRunRow): NodeRunRow | null {
    if (this.halt !== null) return null;
    const ordinal = this.rows.nextOrdinal();
    if (ordinal > LIMITS.nodeRuns) {
      this.halt = TOO_MANY;
      return null;
    }
    const numbered = { ...row, ordinal };
    this.rows.count(numbered);
    return numbered;
  }

  private mayBegin(): boolean {
    if (this.maxSteps === null || this.rows.steps < this.maxSteps) return true;
    if (!this.exhaustedSent) this.emit({ type: 'exhausted', maxSteps: this.maxSteps });
    this.exhaustedSent = true;
    return false;
  }
}

const TOO_MANY: Halt = {
  status: 'failed',
  code: 'LIMIT_EXCEEDED',
  message: `Workflow exceeded maximum node runs (${LIMITS.nodeRuns})`,
};

function cancelled(row: NodeRunRow): NodeRunRow {
  return { ...row, status: 'cancelled', handles: [] };
}
