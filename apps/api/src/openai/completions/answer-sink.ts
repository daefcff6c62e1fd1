import type { AnswerPart } from '../answer/answer-part.js';
import type { OpenAiError } from '../openai-error.js';

/** Where an answer goes: a stream, or one reply at its end. */
export interface AnswerSink {
  /** Takes what comes next, and waits until more can be taken. Throws the `OpenAiError` of an answer that is none. */
  take(parts: readonly AnswerPart[]): Promise<void>;
  /** Ends with an error: throws it, or, once something was told, tells it as the last thing. */
  refuse(error: OpenAiError): Promise<void>;
  /** Breaks off: the client is told in a way that it cannot take for a whole answer. Throws `error` while nothing was told. */
  fail(error: unknown): void;
}
