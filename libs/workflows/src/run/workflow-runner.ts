import { Draining, endsJob, type JobRun } from '#jobs';
import { systemClock, type Timer, type TimeSlice, timeSlice } from '#platform';

import { LIMITS } from '../definition/limits.js';
import { isFinished, type NodeRunRow } from '../engine/node-run.js';
import type { RunCommand, RunResult } from '../engine/run-command.js';
import type { RunEvent } from '../engine/run-event.js';
import type { RunPlan } from '../engine/run-plan.js';
import type { WorkflowRun } from '../engine/workflow-run.js';
import type { LeaseContext } from './lease-context.js';
import { PlanNodes } from './locate-node.js';
import { NodeHooks } from './node-hooks.js';
import type { Report } from './node-report.js';
import { NodeRunWriter } from './node-run-writer.js';
import type { Answers, Awaited } from './node-runs.repository.js';
import { type Assignment, NodeWork } from './node-work.js';
import type { RunBudget, UsedUp } from './run-budget.js';
import { WorkPool } from './work-pool.js';

/** What to do about a reached limit. */
type Asked =
  | { readonly type: 'waiting'; readonly interruptIds: readonly string[] }
  /** The run must stop. */
  | { readonly type: 'stopped'; readonly message: string };

/**
 * Watches the limits of a run. At the time limit, the run is released as in a drain, so that a hanging node cannot delay the question. Open rounds
 * may still commit within `pauseMs`.
 */
class BudgetWatch {
  /** No node begins until more is granted. */
  private exhausted: UsedUp | null = null;
  private timer: Timer | undefined;

  constructor(
    private readonly budget: RunBudget,
    private readonly run: JobRun,
    private readonly options: {
      readonly workflowName: string;
      /** How long running nodes may continue. */
      readonly pauseMs: number;
      /** Called when the limits should be checked again. */
      readonly wake: () => void;
    },
  ) {}

  /** Returns true once, when a limit has been reached. */
  look(): boolean {
    if (this.exhausted !== null) return false;
    this.exhausted = this.budget.usedUp;
    if (this.exhausted?.kind === 'time') this.pause();
    else if (this.exhausted === null) this.lookInTime();
    return this.exhausted !== null;
  }

  /** The engine counts the steps. */
  useUp(steps: number): void {
    this.exhausted ??= { kind: 'steps', used: steps };
  }

  /** Asks for more budget. Null: no limit is reached. */
  ask(): Asked | null {
    if (this.exhausted === null) return null;
    const answer = this.budget.ask(this.options.workflowName, this.exhausted);
    if (answer.type === 'waiting') return answer;
    const message = `The budget of this workflow is used up. ${this.budget.describe(this.exhausted)}`;
    return { type: 'stopped', message };
  }

  stop(): void {
    this.timer?.cancel();
  }

  private lookInTime(): void {
    const { msLeft } = this.budget;
    if (msLeft === null) return;
    this.timer ??= systemClock.after(Math.max(1, msLeft), () => {
      this.timer = undefined;
      this.options.wake();
    });
  }

  private pause(): void {
    this.run.draining = true;
    this.timer?.cancel();
    this.timer = systemClock.after(this.options.pauseMs, () => {
      this.run.abort(new Draining());
    });
  }
}

/** How a lease's work on a workflow ended. */
export type RunnerOutcome =
  /** `gaveUp`: nodes with open requests were abandoned meanwhile. */
  | { readonly type: 'ended'; readonly result: RunResult; readonly gaveUp: boolean }
  | { readonly type: 'waiting'; readonly interruptIds: readonly string[] }
  /** Another worker continues the run, or no worker does: the signal of the run has the reason. */
  | { readonly type: 'released' };

/** The commands that may evaluate expressions for a long time before their first `await`. */
const working: ReadonlySet<RunCommand['type']> = new Set(['run', 'decide', 'list']);

/** The dependencies of one lease's run of a workflow. */
export interface RunnerDependencies {
  readonly engine: WorkflowRun;
  readonly context: LeaseContext;
  readonly plan: RunPlan;
  readonly budget: RunBudget;
  /** How long running nodes may continue after the time limit. */
  readonly pauseMs: number;
  /** Reads which awaited requests and calls are settled. */
  readonly answersTo: (awaited: Awaited) => Promise<Answers>;
  /** Default: `timeSlice`, which all work of the process shares. */
  readonly slice?: Pick<TimeSlice, 'isOver' | 'nextTurn'>;
}

/**
 * Drives the engine under one lease: executes its commands, reports the outcomes, and writes rows. Concurrent nodes share the run of the job. The
 * engine makes all decisions.
 */
export class WorkflowRunner {
  private readonly work: NodeWork;
  private readonly writer: NodeRunWriter;
  private readonly limits: BudgetWatch;
  private readonly pool: WorkPool;
  private readonly events: RunEvent[] = [];
  private readonly slice: Pick<TimeSlice, 'isOver' | 'nextTurn'>;
  private resume: (() => void) | undefined;
  /** Whether `wake` was called since the last pass of the loop began. */
  private isWoken = false;
  private result: RunResult | undefined;
  private isReleased = false;

  constructor(private readonly dependencies: RunnerDependencies) {
    const { plan, context, budget, pauseMs, engine, answersTo, slice = timeSlice } = dependencies;
    const { wake } = this;
    this.slice = slice;
    this.limits = new BudgetWatch(budget, context.run, { workflowName: plan.graph.name, pauseMs, wake });
    const nodes = new PlanNodes(plan);
    this.work = new NodeWork(nodes, context.run, context.services, new NodeHooks(context));
    this.writer = new NodeRunWriter(context);
    this.pool = new WorkPool({
      ...{ context, nodes, answersTo, wake, viewOf: (row) => engine.viewOf(row) },
      publish: (event) => this.events.push(event),
      release: () => {
        this.isReleased = true;
      },
    });
  }

  async drive(): Promise<RunnerOutcome> {
    const { engine, context } = this.dependencies;
    const { signal } = context.run;
    signal.addEventListener('abort', this.onAbort);
    context.run.onAnswered = () => {
      this.pool.answerArrived();
    };
    try {
      await this.watchBudget();
      if (signal.aborted) this.onAbort();
      await this.execute(engine.start());
      return await this.runUntilIdle();
    } finally {
      this.limits.stop();
      signal.removeEventListener('abort', this.onAbort);
      context.run.onAnswered = undefined;
      await this.pool.stop();
    }
  }

  private async runUntilIdle(): Promise<RunnerOutcome> {
    const { engine, context } = this.dependencies;
    for (;;) {
      this.isWoken = false;
      await this.watchBudget(); // stored before anything that depends on it
      for (const event of this.events.splice(0)) await this.execute(engine.handle(event));
      if (this.result !== undefined) return { type: 'ended', result: this.result, gaveUp: this.pool.gaveUp };
      this.pool.lookIfMissed();
      if (this.pool.isIdle && this.events.length === 0) {
        if (this.isReleased) return { type: 'released' };
        const asked = this.askForMore();
        if (asked !== null && engine.resting)
          return { type: 'waiting', interruptIds: [...new Set([...asked, ...this.pool.awaited])] };
        if (asked !== null && context.run.draining) return { type: 'released' };
      }
      await this.nextEvents();
    }
  }

  /**
   * If the time slice is over, waits one turn of the event loop before a long command. Commits may happen meanwhile; an engine that is rebuilt from
   * the rows returns this command again.
   */
  private async execute(commands: readonly RunCommand[]): Promise<void> {
    for (const command of commands) {
      if (working.has(command.type) && this.slice.isOver) await this.slice.nextTurn();
      this.executeOne(command);
    }
  }

  private executeOne(command: RunCommand): void {
    switch (command.type) {
      case 'run':
        this.begin(command.run, command.isNew);
        return;
      case 'store':
        this.store(command.run);
        return;
      case 'decide':
        this.assign(command.run, (assignment) => this.work.decide(assignment, command));
        return;
      case 'list':
        this.assign(command.run, (assignment) => this.work.list(assignment));
        return;
      case 'iterate':
        this.writer.iterate(command);
        return;
      case 'cancel':
        this.pool.cancel(command.keys);
        return;
      case 'warn':
        this.writer.warn(command);
        return;
      case 'exhausted':
        this.limits.useUp(command.maxSteps);
        return;
      case 'end':
        this.result = command.result;
        this.pool.endOfRun();
    }
  }

  private begin(row: NodeRunRow, isNew: boolean): void {
    this.writer.begin(row, isNew);
    if (this.mayBegin() && this.work.isPure(row) && this.executeNow(row)) return;
    this.assign(row, (assignment) => this.work.execute(assignment));
  }

  /** False: the lease is being released. */
  private mayBegin(): boolean {
    const { run } = this.dependencies.context;
    this.isReleased ||= run.draining || run.signal.aborted;
    return !this.isReleased;
  }

  /** Returns false if the node must be executed like any other. */
  private executeNow(row: NodeRunRow): boolean {
    const event = this.work.executeNow(this.pool.assignmentOf(row, this.dependencies.context.run.signal));
    if (event !== null) this.events.push(event);
    return event !== null;
  }

  private store(row: NodeRunRow): void {
    if (isFinished(row.status)) this.pool.ended(row);
    if (!this.writer.store(row)) this.events.push({ type: 'stopped', code: 'OUTPUT_LIMIT', message: TOO_MUCH_TEXT });
  }

  private assign(row: NodeRunRow, work: (assignment: Assignment) => Promise<Report>): void {
    if (this.mayBegin()) this.pool.assign(row, work);
  }

  private readonly onAbort = (): void => {
    const reason: unknown = this.dependencies.context.run.signal.reason;
    this.pool.abort(reason);
    if (endsJob(reason)) this.events.push({ type: 'cancelled' });
    else this.isReleased = true;
    this.wake();
  };

  private async watchBudget(): Promise<void> {
    if (this.limits.look()) await this.execute(this.dependencies.engine.handle({ type: 'exhausted' }));
  }

  /** The ids that the run waits for; null: the run has ended. Called only if no node is executed, because such a node may be the last. */
  private askForMore(): readonly string[] | null {
    const asked = this.limits.ask();
    if (asked === null) return [];
    if (asked.type === 'waiting') return asked.interruptIds;
    this.events.push({ type: 'stopped', code: 'budget_exceeded', message: asked.message });
    return null;
  }

  private readonly wake = (): void => {
    this.isWoken = true;
    this.resume?.();
  };

  private async nextEvents(): Promise<void> {
    if (this.events.length > 0 || this.isWoken) return;
    await new Promise<void>((resolve) => {
      this.resume = resolve;
    });
    this.resume = undefined;
  }
}

const TOO_MUCH_TEXT = `The inputs and outputs of this workflow's nodes have more than ${LIMITS.runText} characters together. Shorten them.`;
