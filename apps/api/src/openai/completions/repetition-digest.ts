import { createHash } from 'node:crypto';

import { canonicalJson } from '#tools';

import { type Continuation, resultsDigest } from '../request/continuation.js';

/**
 * By what a continuation is recognised when it comes again (SHA-256, hex): its results, and what is said beside them. Null: it
 * brings none, or they are history by now, since an assistant has answered. Pure.
 */
export function repetitionDigest({ results, after }: Continuation): string | null {
  if (results.length === 0 || after.some(({ role }) => role === 'assistant')) return null;
  return createHash('sha256')
    .update(canonicalJson([resultsDigest(results), after]))
    .digest('hex');
}
