import { cutText } from './preview-arguments.js';

/** How a call came to run or not; null: no policy was asked, as for calls that were skipped. */
export type ApprovalOutcome = 'policy' | 'person' | 'grant' | 'denied' | 'expired' | 'blocked' | 'withdrawn';

/** A call of a round, as its receipt describes it. */
export interface ReceiptCall {
  readonly callId: string;
  readonly approval: ApprovalOutcome | null;
  /** Redacted JSON of the arguments a person put in the place of the model's; null: as proposed. */
  readonly edited: string | null;
}

/** Needed a decision by a person, with any outcome. */
const NEEDED_DECISION: ReadonlySet<ApprovalOutcome | null> = new Set([
  'person',
  'grant',
  'denied',
  'expired',
  'withdrawn',
] as const);
const longestEdit = 2_000;

/**
 * The decisions of a round for the model, as one `system` message from us: null when no decision was needed. For a call that
 * the policy blocked, or whose approval was withdrawn, it contains no more than the call's result does.
 */
export function approvalReceipts(calls: readonly ReceiptCall[]): string | null {
  if (!calls.some((call) => NEEDED_DECISION.has(call.approval))) return null;
  const parts = calls.flatMap((call) =>
    call.approval === null ? [] : [`${idText(call.callId)} ${tell(call, call.approval)}`],
  );
  return `Approval receipts: ${parts.join('; ')}.`;
}

function tell(call: ReceiptCall, approval: ApprovalOutcome): string {
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

/** Call ids come from the model: one that is not a plain word is quoted, so that it cannot read as a receipt. */
function idText(callId: string): string {
  return /^[\w.:-]{1,256}$/.test(callId) ? callId : JSON.stringify(cutText(callId, 256));
}
