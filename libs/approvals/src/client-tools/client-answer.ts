import { toStorableText } from '#platform';
import { executionError, projectResult, RESULT_BYTES, type Settlement } from '#tools';

import { invalidToolResult, toolResultTooLarge } from './client-tools.errors.js';

/** The outcome that a client reports for a call it ran. */
export interface ClientAnswer {
  readonly kind: 'result' | 'error';
  readonly text: string;
}

const longestReason = 1_000;

/** Checks that the client sent exactly one of the two fields, within the size limit. Throws `bad_request`, `too_large`. */
export function toClientAnswer(given: {
  readonly result?: string | null;
  readonly error?: string | null;
}): ClientAnswer {
  const { result = null, error = null } = given;
  const text = result ?? error;
  if (text === null || (result !== null && error !== null)) throw invalidToolResult();
  if (Buffer.byteLength(text) > RESULT_BYTES.durable) throw toolResultTooLarge(RESULT_BYTES.durable);
  return { kind: result === null ? 'error' : 'result', text };
}

/** A client's result as the ledger stores it, treated like the output of a server tool. `redact` removes known secrets. Pure. */
export function toSettlement(name: string, answer: ClientAnswer, redact: (text: string) => string): Settlement {
  const text = toStorableText(redact(answer.text));
  if (answer.kind === 'result') {
    return { status: 'completed', result: projectResult(text, 'durable'), resultBytes: Buffer.byteLength(text) };
  }
  const reason = text.trim() === '' ? 'it failed without a reason' : Array.from(text).slice(0, longestReason).join('');
  return { status: 'error', failure: { phase: 'execution', message: executionError(name, reason) } };
}
