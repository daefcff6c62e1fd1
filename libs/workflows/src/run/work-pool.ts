import { ConversationFailed } from '#chat';

import type { ScopeView, Waiting } from '../engine/node-executor.js';
import type { NodeKey, NodeRunRow } from '../engine/node-run.js';
import type { RunEvent } from '../engine/run-event.js';
import type { LeaseContext } from './lease-context.js';
import type { PlanNodes } from './locate-node.js';
import type { Report } from './node-report.js';
import type { Answers, Awaited } from './node-runs.repository.js';
import type { Assignment } from './node-work.js';
import { RunningNode } from './running-node.js';

interface Work {
  readonly name: string;
  /** The number of hints when the work began. */
  readonly answers: number;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

interface WaitingNode {
  readonly key: NodeKey;
  readonly waits: Waiting;
}

/** The dependencies of a pool, and the receiver of its events. */
export interface PoolParts {
  readonly context: LeaseContext;
  readonly nodes: PlanNodes;
  readonly viewOf: (row: NodeRunRow) => ScopeView | undefined;
  /** Reads which of these answers have arrived. */
  readonly answersTo: (awaited: Awaited) => Promise<Answers>;
  /** A node run has an event. */
  readonly publish: (event: RunEvent) => void;
  /** Some work has ended or restarted. */
  readonly wake: () => void;
  /** The lease has ended, so the run must stop. */
  readonly release: () => void;
}

/** The node runs of one lease that are executed or wait for an answer. Starts, restarts and cancels them. */
export class WorkPool {
  /** By ordinal. */
  private readonly works = new Map<number, Work>();
  /** The node runs that wait, with the ids that they wait for; by ordinal. */
  private readonly waiting = new Map<number, WaitingNode>();
  /** Number of hints that a decision or a result has arrived. */
  private answers = 0;
  /** An answer may have arrived, and the last search for it failed. */
  private mustLook = false;
  /** The open requests of abandoned nodes are being closed. */
  private readonly closings: Promise<void>[] = [];
  private isClosed = false;

  constructor(private readonly parts: PoolParts) {}

  get isIdle(): boolean {
    return this.works.size === 0;
  }

  /** Whether nodes with open requests were abandoned. */
  get gaveUp(): boolean {
    return this.closings.length > 0;
  }

  /** The ids that node runs wait for. */
  get awaited(): readonly string[] {
    return [...this.waiting.values()].flatMap(({ waits }) => waits.interruptIds);
  }

  assign(row: NodeRunRow, work: (assignment: Assignment) => Promise<Report>): void {
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
        this.parts.wake();
      },
    );
    this.works.set(row.ordinal, { name: nameOf(row), answers: this.answers, controller, done });
  }

  assignmentOf(row: NodeRunRow, signal: AbortSignal): Assignment {
    const { context, viewOf } = this.parts;
    const view = viewOf(row);
    if (view === undefined) throw new Error(`node run ${row.ordinal} is not at work`);
    const isContent = this.isContent(row);
    const portsWithin = (own: AbortSignal, hooked = row) =>
      new RunningNode(context, hooked, view, { isContent, signal: own });
    return { row, view, portsWithin, signal };
  }

  /** The node run no longer waits for an answer. */
  ended({ ordinal }: NodeRunRow): void {
    this.waiting.delete(ordinal);
  }

  /** An answer may have arrived. */
  answerArrived(): void {
    this.answers += 1;
    void this.lookAgain();
  }

  /** Searches again if the last search failed and a node is still executed. */
  lookIfMissed(): void {
    if (this.mustLook && !this.isIdle) void this.lookAgain();
  }

  abort(reason: unknown): void {
    for (const { controller } of this.works.values()) controller.abort(reason);
  }

  cancel(keys: readonly NodeKey[]): void {
    const names = new Set(keys.map(nameOf));
    for (const [ordinal, { name, controller, done }] of this.works) {
      if (!names.has(name)) continue;
      controller.abort(new Error('the workflow continues without this node'));
      this.closings.push(done.then(() => this.closeNode(ordinal)));
    }
    for (const [ordinal, { key }] of this.waiting)
      if (names.has(nameOf(key))) this.closings.push(Promise.resolve().then(() => this.closeNode(ordinal)));
  }

  /** Closing the run closes all its node runs, in whichever code path ends it. */
  endOfRun(): void {
    this.isClosed = true;
  }

  /** No work of the pool outlives the lease. */
  async stop(): Promise<void> {
    // Most runs end without open work; a new error would record a stack.
    if (this.works.size > 0) this.abort(this.parts.context.run.signal.reason ?? new Error('the run has ended'));
    await Promise.all([...this.works.values()].map(({ done }) => done));
    await Promise.all(this.closings);
  }

  private finish(row: NodeRunRow, { signal }: AbortController, { event, waits }: Report): void {
    const work = this.works.get(row.ordinal);
    this.works.delete(row.ordinal);
    if (!signal.aborted) {
      if (waits !== undefined) this.waiting.set(row.ordinal, { key: row, waits });
      this.parts.publish(event);
      // The work may have read before the answer arrived.
      if (waits !== undefined && work?.answers !== this.answers) void this.lookAgain();
    }
    this.parts.wake();
  }

  /** The errors that stop the whole run: the end of the lease, and a call whose policy fails its job. */
  private fail(thrown: unknown): void {
    const { publish, release } = this.parts;
    if (thrown instanceof ConversationFailed && thrown.endsJob) {
      publish({ type: 'stopped', code: thrown.code, message: thrown.message });
    } else release();
  }

  /**
   * An answer arrived while other nodes are executed: only the node runs that wait for it run again. If no node is executed, the whole run is
   * rebuilt instead.
   */
  private async lookAgain(): Promise<void> {
    this.mustLook = this.isIdle;
    if (this.waiting.size === 0 || this.mustLook) return;
    const answers = await this.readAnswers();
    if (answers === null) return;
    this.parts.context.questions.load(answers.questions);
    const arrived = new Set([...answers.requests, ...answers.calls]);
    for (const { key, waits } of this.waiting.values())
      if (thingsOf(waits).some((awaited) => arrived.has(awaited))) this.parts.publish({ type: 'resumed', key });
    this.parts.wake();
  }

  /** Null: the lease is lost, or the database is unavailable at the moment. */
  private async readAnswers(): Promise<Answers | null> {
    const { context, answersTo } = this.parts;
    try {
      await context.run.commit();
      const waits = [...this.waiting.values()].map((node) => node.waits);
      return await answersTo({
        requests: waits.flatMap(({ interruptIds }) => interruptIds),
        calls: waits.flatMap(({ calls = [] }) => calls),
      });
    } catch {
      this.mustLook = true;
      return null;
    }
  }

  /** Closes the questions of a node that was cancelled. */
  private async closeNode(ordinal: number): Promise<void> {
    const { run, conversations, questions } = this.parts.context;
    if (this.isClosed || run.signal.aborted) return;
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

  /** Whether the node's text is the job's own output: a leaf of the top level. */
  private isContent({ nodeId, path, iteration }: NodeRunRow): boolean {
    if (path.length > 0 || iteration.length > 0) return false;
    const { graph, node } = this.parts.nodes.find(nodeId);
    return graph.leaves.has(node.id);
  }
}

/** Ids of requests and calls never collide. */
function thingsOf({ interruptIds, calls = [] }: Waiting): readonly string[] {
  return [...interruptIds, ...calls];
}

function nameOf({ nodeId, iteration }: NodeKey): string {
  return `${nodeId} ${iteration.join('.')}`;
}
