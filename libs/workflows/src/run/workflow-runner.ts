import { ConversationFailed } from '#chat';
import { endsJob } from '#jobs';

import { LIMITS } from '../definition/limits.js';
import { isFinished, type NodeKey, type NodeRunRow } from '../engine/node-run.js';
import type { RunCommand, RunResult } from '../engine/run-command.js';
import type { RunEvent } from '../engine/run-event.js';
import type { RunPlan } from '../engine/run-plan.js';
import type { WorkflowRun } from '../engine/workflow-run.js';
import { PlanNodes } from './locate-node.js';
import { NodeRunWriter } from './node-run-writer.js';
import type { StoredQuestion } from './node-runs.repository.js';
import { type Assignment, NodeWork, type Report } from './node-work.js';
import type { RunBudget, UsedUp } from './run-budget.js';
import { RunningNode, type RunScope } from './running-node.js';

/** How a lease's work on a workflow came to rest. */
export type RunnerRest =
  /** `gaveUp`: nodes that had something open were given up on the way. */
  | { readonly type: 'ended'; readonly result: RunResult; readonly gaveUp: boolean }
  | { readonly type: 'waiting'; readonly interruptIds: readonly string[] }
  /** Another worker goes on, or nobody: the run's signal says. */
  | { readonly type: 'released' };

interface Work {
  readonly name: string;
  /** Answers that had been heard of when it began. */
  readonly answers: number;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** So many pure nodes take about 10 ms. */
const turnsAtOnce = 100;

/** What one lease's run of a workflow is made of. */
export interface RunnerParts {
  readonly engine: WorkflowRun;
  readonly scope: RunScope;
  readonly plan: RunPlan;
  readonly budget: RunBudget;
  /** Reads how the questions of the nodes stand by now. */
  readonly reread: () => Promise<readonly StoredQuestion[]>;
}

/**
 * Drives the engine under one lease: obeys its commands, tells it what became of them, and writes what it wants stored.
 * Nodes that work at once share the run of the job; nothing is decided here.
 */
export class WorkflowRunner {
  private readonly nodes: PlanNodes;
  private readonly work: NodeWork;
  private readonly writer: NodeRunWriter;
  /** By ordinal. */
  private readonly works = new Map<number, Work>();
  /** Node runs that wait, and for which requests; by ordinal. */
  private readonly waiting = new Map<number, { readonly key: NodeKey; readonly interruptIds: readonly string[] }>();
  private readonly events: RunEvent[] = [];
  private wake: (() => void) | undefined;
  private result: RunResult | undefined;
  private isReleased = false;
  /** The limit that is reached: nothing is begun until more is granted. */
  private exhausted: UsedUp | null = null;
  /** Since it began, without anything outside. */
  private turns = 0;
  /** How often an answer may have come. */
  private answers = 0;
  /** An answer may have come, and the last look for it failed. */
  private mustLook = false;
  /** What given up nodes had open is being closed. */
  private readonly closings: Promise<void>[] = [];

  constructor(private readonly parts: RunnerParts) {
    const { plan, scope } = parts;
    this.nodes = new PlanNodes(plan);
    this.work = new NodeWork(this.nodes, scope.run, scope.services);
    this.writer = new NodeRunWriter(scope);
  }

  async drive(): Promise<RunnerRest> {
    const { engine, scope } = this.parts;
    const { signal } = scope.run;
    signal.addEventListener('abort', this.onAbort);
    scope.run.onAnswered = () => {
      this.answers += 1;
      void this.lookAgain();
    };
    try {
      this.watchBudget();
      this.obey(engine.start());
      if (signal.aborted) this.onAbort();
      return await this.reachRest();
    } finally {
      signal.removeEventListener('abort', this.onAbort);
      scope.run.onAnswered = undefined;
      await this.stopWorks();
      await Promise.all(this.closings);
    }
  }

  private async reachRest(): Promise<RunnerRest> {
    const { engine, scope } = this.parts;
    for (;;) {
      this.watchBudget(); // before anything follows from what has happened
      for (const event of this.events.splice(0)) this.obey(engine.handle(event));
      if (this.result !== undefined) return { type: 'ended', result: this.result, gaveUp: this.closings.length > 0 };
      if (this.mustLook && this.works.size > 0) void this.lookAgain();
      if (this.works.size === 0 && this.events.length === 0) {
        if (this.isReleased || scope.run.draining) return { type: 'released' };
        const asked = this.askForMore();
        if (asked !== null && engine.resting) return { type: 'waiting', interruptIds: this.awaited(asked) };
      }
      await this.nextEvents();
    }
  }

  private awaited(asked: readonly string[]): readonly string[] {
    const byNodes = [...this.waiting.values()].flatMap(({ interruptIds }) => interruptIds);
    return [...new Set([...asked, ...byNodes])];
  }

  private obey(commands: readonly RunCommand[]): void {
    for (const command of commands) this.obeyOne(command);
  }

  private obeyOne(command: RunCommand): void {
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
        this.cancel(command.keys);
        return;
      case 'warn':
        this.writer.warn(command);
        return;
      case 'exhausted':
        this.exhausted ??= { kind: 'steps', used: command.maxSteps };
        return;
      case 'end':
        this.result = command.result;
    }
  }

  private begin(row: NodeRunRow, isNew: boolean): void {
    const isPure = this.work.isPure(row);
    this.writer.begin(row, isNew && !isPure);
    if (!this.mayBegin() || (isPure && this.executeNow(row))) return;
    this.assign(row, (assignment) => this.work.execute(assignment));
  }

  /** Once it may not, it leaves. */
  private mayBegin(): boolean {
    const { run } = this.parts.scope;
    this.isReleased ||= run.draining || run.signal.aborted;
    return !this.isReleased;
  }

  /** False: it has to be executed like any other. */
  private executeNow(row: NodeRunRow): boolean {
    const event = this.work.executeNow(this.assignmentOf(row, this.parts.scope.run.signal));
    if (event !== null) this.events.push(event);
    return event !== null;
  }

  private store(row: NodeRunRow): void {
    if (isFinished(row.status)) this.waiting.delete(row.ordinal);
    if (!this.writer.store(row)) this.events.push({ type: 'stopped', code: 'OUTPUT_LIMIT', message: TOO_MUCH_TEXT });
  }

  private assign(row: NodeRunRow, work: (assignment: Assignment) => Promise<Report>): void {
    if (!this.mayBegin()) return;
    const controller = new AbortController();
    const { signal } = controller;
    this.waiting.delete(row.ordinal);
    const done = work(this.assignmentOf(row, signal)).then(
      (report) => {
        this.finish(row, controller, report);
      },
      (thrown: unknown) => {
        this.works.delete(row.ordinal);
        if (!signal.aborted) this.fail(thrown);
        this.wake?.();
      },
    );
    this.works.set(row.ordinal, { name: nameOf(row), answers: this.answers, controller, done });
  }

  private assignmentOf(row: NodeRunRow, signal: AbortSignal): Assignment {
    const { engine, scope } = this.parts;
    const view = engine.viewOf(row);
    if (view === undefined) throw new Error(`node run ${row.ordinal} is not at work`);
    const terms = { isContent: this.isContent(row), told: new Set<string>() };
    const portsWithin = (own: AbortSignal) => new RunningNode(scope, row, view, { ...terms, signal: own });
    return { row, view, portsWithin, signal };
  }

  private finish(row: NodeRunRow, { signal }: AbortController, report: Report): void {
    const work = this.works.get(row.ordinal);
    this.works.delete(row.ordinal);
    if (!signal.aborted) {
      if ('interruptIds' in report) this.waiting.set(row.ordinal, { key: row, interruptIds: report.interruptIds });
      this.events.push(report.event);
      // It may have looked before the answer came.
      if ('interruptIds' in report && work?.answers !== this.answers) void this.lookAgain();
    }
    this.wake?.();
  }

  /** What stops the run as a whole: the end of the lease, or a call whose policy fails its job. */
  private fail(thrown: unknown): void {
    if (thrown instanceof ConversationFailed && thrown.endsJob) {
      this.events.push({ type: 'stopped', code: thrown.code, message: thrown.message });
    } else this.isReleased = true;
  }

  private readonly onAbort = (): void => {
    for (const { controller } of this.works.values()) controller.abort(this.parts.scope.run.signal.reason);
    if (endsJob(this.parts.scope.run.signal.reason)) this.events.push({ type: 'cancelled' });
    else this.isReleased = true;
    this.wake?.();
  };

  /** Somebody has answered while others work: who waits is asked again. At rest the whole run is made again instead. */
  private async lookAgain(): Promise<void> {
    this.mustLook = this.works.size === 0;
    if (this.waiting.size === 0 || this.mustLook) return;
    const { scope, reread } = this.parts;
    try {
      await scope.run.commit();
      scope.questions.load(await reread());
    } catch {
      this.mustLook = true; // the lease is gone, or the database for a moment
      return;
    }
    for (const { key } of this.waiting.values()) this.events.push({ type: 'resumed', key });
    this.wake?.();
  }

  private cancel(keys: readonly NodeKey[]): void {
    const names = new Set(keys.map(nameOf));
    for (const [ordinal, { name, controller, done }] of this.works) {
      if (!names.has(name)) continue;
      controller.abort(new Error('the workflow goes on without this node'));
      this.closings.push(done.then(() => this.close(ordinal)));
    }
    for (const [ordinal, { key }] of this.waiting)
      if (names.has(nameOf(key))) this.closings.push(Promise.resolve().then(() => this.close(ordinal)));
  }

  /** Nobody is asked any more about a node that is given up; with the run itself, all is closed. */
  private async close(ordinal: number): Promise<void> {
    const { run, conversations, questions } = this.parts.scope;
    if (this.result !== undefined || run.signal.aborted) return;
    try {
      const open = questions.of(ordinal).filter(({ status }) => status === 'open');
      await conversations.close(
        ordinal,
        open.map(({ id }) => id),
      );
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  private watchBudget(): void {
    if (this.exhausted !== null) return;
    this.exhausted = this.parts.budget.usedUp;
    if (this.exhausted !== null) this.obey(this.parts.engine.handle({ type: 'exhausted' }));
  }

  /** For whom it waits; null: it was told to end. Asked at rest only: what is at work may be the last of it. */
  private askForMore(): readonly string[] | null {
    const { budget, plan } = this.parts;
    if (this.exhausted === null) return [];
    const answer = budget.ask(plan.graph.name, this.exhausted);
    if (answer.type === 'waiting') return answer.interruptIds;
    const message = `The budget of this workflow is used up. ${budget.tell(this.exhausted)}`;
    this.events.push({ type: 'stopped', code: 'budget_exceeded', message });
    return null;
  }

  private async nextEvents(): Promise<void> {
    if (this.events.length > 0) return this.giveWay();
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    this.wake = undefined;
  }

  /** Nodes that wait for nothing follow each other for as long as there are any; others in this process have their turn too. */
  private async giveWay(): Promise<void> {
    this.turns += 1;
    if (this.turns % turnsAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Nothing of it outlives the lease. */
  private async stopWorks(): Promise<void> {
    const { signal } = this.parts.scope.run;
    for (const { controller } of this.works.values()) controller.abort(signal.reason ?? new Error('the run has ended'));
    await Promise.all([...this.works.values()].map(({ done }) => done));
  }

  /** Whether what the node says is the job's own output: a leaf of the top. */
  private isContent({ nodeId, path, iteration }: NodeRunRow): boolean {
    if (path.length > 0 || iteration.length > 0) return false;
    const { graph, node } = this.nodes.find(nodeId);
    return graph.leaves.has(node.id);
  }
}

const TOO_MUCH_TEXT = `The nodes of this workflow read and say more than ${LIMITS.runText} characters`;

function nameOf({ nodeId, iteration }: NodeKey): string {
  return `${nodeId} ${iteration.join('.')}`;
}
