import { type LedgerCall, parseArguments, type ReceiptCall, redactArguments } from '#tools';

/** What the receipt of its round says of a call; nothing for one that no policy was asked about. */
export function receiptOf(call: LedgerCall): { readonly receipt?: Omit<ReceiptCall, 'callId'> } {
  const { state } = call;
  if (state === undefined || state === null || state.approval === null) return {};
  const { approval, approvedArguments, sensitiveFields } = state;
  const wasEdited = approvedArguments !== null && approvedArguments !== call.arguments;
  return { receipt: { approval, edited: wasEdited ? shown(approvedArguments, sensitiveFields ?? []) : null } };
}

function shown(edited: string, sensitiveFields: readonly string[]): string {
  const parsed = parseArguments(edited);
  return parsed.ok ? JSON.stringify(redactArguments(parsed.value, sensitiveFields)) : '{}';
}
