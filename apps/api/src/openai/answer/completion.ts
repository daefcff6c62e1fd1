import type { AnswerPart } from './answer-part.js';
import type { AnswerHead } from './chunk-writer.js';

/** An answer in one piece: a `chat.completion`. */
export interface Completion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly unknown[];
  readonly usage: unknown;
}

/** Collects an answer. */
export class CompletionBuilder {
  readonly parts: AnswerPart[] = [];

  add(part: AnswerPart): void {
    this.parts.push(part);
  }

  /** Throws the `OpenAiError` of an answer that failed. Call once the end was added. */
  build(head: AnswerHead): { readonly completion: Completion; readonly usageEstimated: boolean } {
    const { id, created, model } = head;
    return {
      completion: { id, object: 'chat.completion', created, model, choices: [], usage: null },
      usageEstimated: false,
    };
  }
}
