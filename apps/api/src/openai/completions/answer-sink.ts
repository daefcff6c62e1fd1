import type { AnswerPart } from '../answer/answer-part.js';

/** Where an answer goes: a stream, or one reply at its end. */
export interface AnswerSink {
  /** Takes what comes next, and waits until more can be taken. Throws the `OpenAiError` of an answer that is none. */
  take(parts: readonly AnswerPart[]): Promise<void>;
  /** Breaks off: the client is told in a way that it cannot take for a whole answer. Throws `error` while nothing was told. */
  fail(error: unknown): void;
}
