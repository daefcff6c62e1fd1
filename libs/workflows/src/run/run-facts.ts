import type { NodeRunFacts } from './node-run-part.repository.js';
import type { RunTally } from './node-view.js';

interface Facts {
  startedAt: number | null;
  finishedAt: number | null;
  promptTokens: number;
  completionTokens: number;
}

/** When the node runs of one job began and ended, and what they used; by ordinal. */
export class RunFacts implements RunTally {
  private readonly byOrdinal = new Map<number, Facts>();

  /** What leaves of the top have shown as the job's content; null: it is not known word for word. */
  content: string | null = '';

  constructor(private readonly now: () => number) {}

  load(stored: readonly (NodeRunFacts & { readonly ordinal: number })[]): void {
    for (const { ordinal, startedAt, finishedAt, promptTokens, completionTokens } of stored) {
      this.byOrdinal.set(ordinal, { startedAt, finishedAt, promptTokens, completionTokens });
    }
  }

  /** False: it was begun before. */
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

  of(ordinal: number): NodeRunFacts {
    return this.byOrdinal.get(ordinal) ?? nothing;
  }

  addUsage(ordinal: number, promptTokens: number, completionTokens: number): void {
    const facts = this.byOrdinal.get(ordinal);
    if (facts === undefined) return;
    facts.promptTokens += promptTokens;
    facts.completionTokens += completionTokens;
  }

  addContent(text: string): void {
    if (this.content !== null) this.content += text;
  }

  loseContent(): void {
    this.content = null;
  }
}

const nothing: Facts = { startedAt: null, finishedAt: null, promptTokens: 0, completionTokens: 0 };
