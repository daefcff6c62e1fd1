import type { LedgerCall } from '#tools';

/** The error of a call whose policy fails the job; null if no call has such an error. */
export function callThatEndsJob(
  calls: readonly LedgerCall[],
): { readonly code: string; readonly message: string } | null {
  for (const { error, name } of calls) {
    if (error?.failJob === undefined) continue;
    return { code: error.failJob, message: `The call of "${name}" ended the job: ${error.message}` };
  }
  return null;
}
