import type { Connection } from './connection.js';
import { InterruptDocument, ResolveInterruptDocument, type ResolveInterruptInput } from './generated/graphql.js';
import type { Interrupt } from './interrupt.js';
import { NightshiftError } from './nightshift-error.js';
import type { Approval, OfferedRequest } from './serve-options.js';
import { assertTaken } from './to-failure.js';

/** Rejections because another client was faster, or the request is over: nothing is left to do. */
const isSettled = new Set(['already_answered', 'expired', 'not_found', 'not_pending']);

/** Asks the application about a request that it may decide, and hands the answer in. */
export async function serveDecision(
  { http }: Connection,
  { id, signal }: OfferedRequest,
  decide: (request: Interrupt) => Promise<Omit<ResolveInterruptInput, 'id'> | undefined>,
): Promise<void> {
  try {
    const { interrupt } = await http.execute(InterruptDocument, { id }, { signal, retry: 'briefly' });
    if (interrupt === null || interrupt.status !== 'OPEN' || !interrupt.mayDecide) return;
    const answer = await decide(interrupt);
    if (answer === undefined || signal.aborted) return;
    const input = { ...answer, id };
    const { resolveInterrupt } = await http.execute(
      ResolveInterruptDocument,
      { input },
      { signal, retry: 'patiently' },
    );
    assertTaken(resolveInterrupt);
  } catch (error) {
    if (signal.aborted || (error instanceof NightshiftError && isSettled.has(error.code))) return;
    throw error;
  }
}

/** An approval as it is handed in: for exactly the arguments that were shown. */
export function toDecision(approval: Approval, { request }: Interrupt): Omit<ResolveInterruptInput, 'id'> | undefined {
  if (approval === undefined) return undefined;
  if (approval === 'deny') return { decision: 'DENY' };
  if (approval !== 'approve' && 'deny' in approval) return { decision: 'DENY', reason: approval.deny };
  const { argumentsHash } = request as { readonly argumentsHash?: string }; // docs/approvals.md: what a request shows
  const edited = approval === 'approve' ? {} : { arguments: approval.edit };
  return { decision: 'APPROVE', argumentsHash, ...edited };
}
