import { type ReceiptCall, redactArguments } from '#approvals';
import { type LedgerCall, readArguments, runArguments } from '#tools';

/** The entry of the call in the receipt of its round; empty if no policy applied to the call. */
export function receiptOf(call: LedgerCall): { readonly receipt?: Omit<ReceiptCall, 'callId'> } {
  const { state } = call;
  if (state === undefined || state === null || state.approval === null) return {};
  const { approval, approvedArguments, sensitiveFields } = state;
  const { arguments: run, proposedArguments } = runArguments({ arguments: call.arguments, approvedArguments });
  const edited = proposedArguments === null ? null : shown(run, sensitiveFields ?? []);
  return { receipt: { approval, edited } };
}

function shown(edited: string, sensitiveFields: readonly string[]): string {
  const parsed = readArguments(edited);
  return parsed.ok ? JSON.stringify(redactArguments(parsed.value, sensitiveFields)) : '{}';
}
