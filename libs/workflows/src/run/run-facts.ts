import type { NewJobEvent } from '#jobs';
import { defined } from '#platform';

import type { UsedByModel } from '../definitions/run-spending.js';
import { isFinished, type NodeExtra, type NodeRunRow } from '../engine/node-run.js';
import type { NodeRunFacts } from './node-run.part.js';
import type { RunTally } from './node-view.js';

interface Facts {
  startedAt: number | null;
  finishedAt: number | null;
  promptTokens: number;
  completionTokens: number;
}

interface Attempts {
  readonly begun: number;
  readonly lost: number;
}

/** The decision of the hooks before a node about one of its runs. */
export interface Hooked {
  readonly input: string;
  readonly hooks: NonNullable<NodeExtra['hooks']>;
}

/** A published event of a node run: `<branch> started`, `<branch> finished` … */
export interface PublishedNodeEvent {
  readonly ordinal: number;
  readonly what: string;
}

/** The text that viewers of a job saw as its content. */
export interface ShownContent {
  text: string;
  reasoning: string;
}

/** Begin, end and usage of the node runs of one job, by ordinal. */
export class RunFacts implements RunTally {
  private readonly byOrdinal = new Map<number, Facts>();
  private readonly published = new Map<number, Set<string>>();
  /** Attempts of plugin nodes, by ordinal. */
  private readonly attempts = new Map<number, Attempts>();
  private readonly hooked = new Map<number, Hooked>();
  /** Changes of hooks after a node, which the end of its run stores; by ordinal. */
  private readonly changes = new Map<number, readonly NewJobEvent[]>();
  /** UTF-16 units that finished node runs have read and written. */
  private text = 0;
  /** The text and reasoning that leaves of the top level showed as the job's content; null: the exact text is unknown. */
  shown: ShownContent | null = { text: '', reasoning: '' };

  /** Called with the usage of each model call; undefined: no budget counts it. */
  onSpent: ((used: UsedByModel) => void) | undefined;

  constructor(private readonly now: () => number) {}

  load(nodeRuns: readonly (NodeRunRow & NodeRunFacts)[], published: readonly PublishedNodeEvent[]): void {
    for (const { ordinal, what } of published) this.publishedOf(ordinal).add(what);
    for (const row of nodeRuns) {
      const { ordinal, startedAt, finishedAt, promptTokens, completionTokens } = row;
      this.addText(row);
      const begun = row.extra.attempts ?? 0;
      if (begun > 0) this.attempts.set(ordinal, { begun, lost: isFinished(row.status) ? 0 : begun });
      this.byOrdinal.set(ordinal, { startedAt, finishedAt, promptTokens, completionTokens });
    }
  }

  /** The published events of a node run, which must not be published again. */
  publishedOf(ordinal: number): Set<string> {
    const published = this.published.get(ordinal) ?? new Set();
    this.published.set(ordinal, published);
    return published;
  }

  /** Returns false if it was begun before. */
  begin(ordinal: number): boolean {
    if (this.byOrdinal.has(ordinal)) return false;
    this.byOrdinal.set(ordinal, { ...nothing, startedAt: this.now() });
    return true;
  }

  end(ordinal: number): void {
    this.begin(ordinal);
    const facts = this.byOrdinal.get(ordinal);
    if (facts !== undefined) facts.finishedAt ??= this.now();
  }

  /** The number of the attempt that an earlier worker began and this worker did not handle yet; 0: none. */
  lostAttempt(ordinal: number): number {
    return this.attempts.get(ordinal)?.lost ?? 0;
  }

  /** Returns the number of the next attempt, from 1. */
  beginAttempt(ordinal: number): number {
    const begun = (this.attempts.get(ordinal)?.begun ?? 0) + 1;
    this.attempts.set(ordinal, { begun, lost: 0 });
    return begun;
  }

  /** Adds the facts to the row. */
  completed(row: NodeRunRow): NodeRunRow {
    const begun = this.attempts.get(row.ordinal)?.begun;
    const { input, hooks } = this.hooked.get(row.ordinal) ?? { input: row.input, hooks: row.extra.hooks };
    if (begun === undefined && hooks === undefined) return row;
    const attempts = begun === undefined ? {} : { attempts: begun };
    return { ...row, input, extra: { ...row.extra, ...attempts, ...defined({ hooks }) } };
  }

  /** Records that the hooks before a node have run. */
  passHooks(ordinal: number, hooked: Hooked): void {
    this.hooked.set(ordinal, hooked);
  }

  /** Undefined: they have not run under this lease. */
  hookedOf(ordinal: number): Hooked | undefined {
    return this.hooked.get(ordinal);
  }

  /** Keeps the changes of hooks after a node for the commit that ends its run. */
  keepChanges(ordinal: number, events: readonly NewJobEvent[]): void {
    this.changes.set(ordinal, events);
  }

  takeChanges(ordinal: number): readonly NewJobEvent[] {
    const events = this.changes.get(ordinal) ?? [];
    this.changes.delete(ordinal);
    return events;
  }

  of(ordinal: number): NodeRunFacts {
    return this.byOrdinal.get(ordinal) ?? nothing;
  }

  addUsage(ordinal: number, promptTokens: number, completionTokens: number): void {
    const facts = this.byOrdinal.get(ordinal);
    if (facts === undefined) return;
    facts.promptTokens += promptTokens;
    facts.completionTokens += completionTokens;
  }

  spend(used: UsedByModel): void {
    this.onSpent?.(used);
  }

  /** Returns the new total. */
  addText({ input, output, status }: Pick<NodeRunRow, 'input' | 'output' | 'status'>): number {
    if (isFinished(status)) this.text += input.length + (output?.length ?? 0);
    return this.text;
  }

  addContent(text: string): void {
    if (this.shown !== null) this.shown.text += text;
  }

  addReasoning(text: string): void {
    if (this.shown !== null) this.shown.reasoning += text;
  }

  loseContent(): void {
    this.shown = null;
  }
}

const nothing: Facts = { startedAt: null, finishedAt: null, promptTokens: 0, completionTokens: 0 };
