import type { LedgerCall } from '#tools';

/** A call whose policy ends the job with it; null: there is none. */
export function callThatEndsJob(
  calls: readonly LedgerCall[],
): { readonly code: string; readonly message: string } | null {
  for (const { error, name } of calls) {
    if (error?.failJob === undefined) continue;
    return { code: error.failJob, message: `The call of "${name}" ended the job: ${error.message}` };
  }
  return null;
}
