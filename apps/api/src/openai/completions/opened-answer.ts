import type { Answer } from '#chat';
import type { Allowance } from '#platform';

/** The response for a request: a new one, or one that an earlier request started. */
export interface OpenedAnswer {
  readonly answer: Answer;
  readonly isAttached: boolean;
  /** Fields of the request that had no effect. */
  readonly ignored: readonly string[];
  /** How many jobs the principal may still start; null: this request started none. */
  readonly allowance: Allowance | null;
}

/** A response that is running or has ended; the client gets it from its beginning. */
export function attached(answer: Answer, ignored: readonly string[] = []): OpenedAnswer {
  return { answer, isAttached: true, ignored, allowance: null };
}
