import { cutText } from './preview-arguments.js';

/** How a call was allowed or rejected; null: no policy was evaluated, for example because the call was skipped. */
export type ApprovalOutcome = 'policy' | 'person' | 'grant' | 'denied' | 'expired' | 'blocked' | 'withdrawn';

/** A call of a round, with the fields of its receipt. */
export interface ReceiptCall {
  readonly callId: string;
  readonly approval: ApprovalOutcome | null;
  /** The redacted JSON of the arguments that a person edited; null: as proposed. */
  readonly edited: string | null;
}

/** The outcomes of calls that needed a person's decision. */
const NEEDED_DECISION: ReadonlySet<ApprovalOutcome | null> = new Set([
  'person',
  'grant',
  'denied',
  'expired',
  'withdrawn',
] as const);
const longestEdit = 2_000;

/**
 * The decisions of a round for the model, as one `system` message of the server; null: no call needed a decision. For a call that the policy
 * blocked, or whose approval was withdrawn, the message reveals no more than the call's result does.
 */
export function approvalReceipts(calls: readonly ReceiptCall[]): string | null {
  if (!calls.some((call) => NEEDED_DECISION.has(call.approval))) return null;
  const parts = calls.flatMap((call) =>
    call.approval === null ? [] : [`${idText(call.callId)} ${describeDecision(call, call.approval)}`],
  );
  return `Approval receipts: ${parts.join('; ')}.`;
}

function describeDecision(call: ReceiptCall, approval: ApprovalOutcome): string {
  switch (approval) {
    case 'policy':
      return 'allowed by policy';
    case 'person':
      return call.edited === null
        ? 'approved by a person'
        : `approved by a person with edited arguments ${cutText(call.edited, longestEdit)}`;
    case 'grant':
      return 'approved by an earlier grant of a person';
    case 'denied':
      return 'denied, not executed';
    case 'expired':
      return 'expired, not executed';
    case 'blocked':
    case 'withdrawn':
      return 'not executed';
  }
}

/** Call ids come from the model. An id that is not a plain word is quoted, so that it cannot imitate a receipt. */
function idText(callId: string): string {
  return /^[\w.:-]{1,256}$/.test(callId) ? callId : JSON.stringify(cutText(callId, 256));
}
