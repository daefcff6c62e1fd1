import type { AnswerPart } from '../answer/answer-part.js';

/** Where an answer goes: a stream, or one reply at its end. */
export interface AnswerSink {
  /** Takes what comes next, and waits until more can be taken. Throws the `OpenAiError` of an answer that is none. */
  take(parts: readonly AnswerPart[]): Promise<void>;
  /** Breaks off so that the client cannot take the response for a complete one. Throws `error` while nothing was sent. */
  fail(error: unknown): void;
}
