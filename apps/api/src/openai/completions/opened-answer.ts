import type { Answer } from '#chat';
import type { Allowance } from '#platform';

/** An answer that a request gets: one that begins now, or one that an earlier request has begun. */
export interface OpenedAnswer {
  readonly answer: Answer;
  readonly isAttached: boolean;
  /** Fields of the request that meant nothing. */
  readonly ignored: readonly string[];
  /** What the principal may still start; null: this request started nothing. */
  readonly allowance: Allowance | null;
}

/** A response that is running or has ended: sent from its beginning. */
export function attached(answer: Answer, ignored: readonly string[] = []): OpenedAnswer {
  return { answer, isAttached: true, ignored, allowance: null };
}
