import type { Response } from 'express';

import type { AnswerPart } from '../answer/answer-part.js';
import type { AnswerHead } from '../answer/chunk-writer.js';
import { CompletionBuilder } from '../answer/completion.js';
import type { AnswerSink } from './answer-sink.js';

/** An answer as one reply, when it is whole. */
export class WholeSink implements AnswerSink {
  private readonly builder = new CompletionBuilder();

  constructor(
    private readonly response: Response,
    private readonly head: () => AnswerHead,
  ) {}

  take(parts: readonly AnswerPart[]): Promise<void> {
    for (const part of parts) this.builder.add(part);
    if (parts.some(({ type }) => type === 'end')) {
      const { completion, usageEstimated } = this.builder.build(this.head());
      if (usageEstimated) this.response.setHeader('X-Usage-Estimated', 'true');
      this.response.json(completion);
    }
    return Promise.resolve();
  }

  fail(error: unknown): void {
    throw error;
  }
}
