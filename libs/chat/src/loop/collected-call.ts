import type { RequestedCall } from '#models';
import type { PlannedCall } from '#tools';

/** A call of a response whose calls run elsewhere. */
export interface CollectedCall extends RequestedCall {
  /** Why it must not run. Absent: it may. */
  readonly refusal?: string;
}

/** Refuses a call beyond the limit, and one with too long arguments. Whether its tool exists is decided where it runs. */
export function toCollectedCall(
  { ordinal, callId, name, arguments: text, disposition }: PlannedCall,
  maxCalls: number,
): CollectedCall {
  const isInvalid = disposition.type === 'settled' && disposition.status === 'error';
  const refusal = ordinal > maxCalls ? tooManyCalls(maxCalls) : isInvalid ? disposition.failure.message : null;
  return { callId, name, arguments: text, ...(refusal === null ? {} : { refusal }) };
}

function tooManyCalls(most: number): string {
  return `Not run: a response may have ${most} tool calls. Ask for this call again if it is still needed.`;
}
