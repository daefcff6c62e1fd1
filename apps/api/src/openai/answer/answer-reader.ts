import type { JobKind } from '#jobs';

import type { ViewedItem } from '../../streams/viewed-item.js';
import type { AnswerFormat, AnswerPart } from './answer-part.js';

/** Which part of a job an answer is, and how it is told. */
export interface AnswerTerms {
  readonly format: AnswerFormat;
  readonly kind: JobKind;
  /** Rounds up to this one belong to earlier answers of the job. 0: there are none. */
  readonly afterRound: number;
  /** For one who comes late: everything up to this event is told in one piece. 0: nothing was missed. */
  readonly catchUpTo: number;
  /** Members of a tool's arguments that its viewers do not see. */
  readonly sensitiveFieldsOf: (tool: string) => readonly string[];
}

/**
 * Tells the answer from what a feed gives about its job: events after the answer began, and snapshots, of any moment and as
 * many as there are. One for each client; pure but for what it remembers. Once the end was told it says nothing more.
 */
export class AnswerReader {
  constructor(private readonly terms: AnswerTerms) {}

  /** Whether the model or a tool has begun: from then on it is an answer, whatever becomes of it. */
  get hasBegun(): boolean {
    return this.terms.afterRound < 0;
  }

  /** Whether the end was told. */
  get isOver(): boolean {
    return this.terms.afterRound < 0;
  }

  /** The requests that people have to answer before it goes on: ids of interrupts, in the order of their opening. */
  get waitsFor(): readonly string[] {
    return [];
  }

  take(item: ViewedItem): readonly AnswerPart[] {
    return item.type === 'events' ? [] : [];
  }
}
