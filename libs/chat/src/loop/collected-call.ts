import type { RequestedCall } from '#models';
import type { PlannedCall } from '#tools';

/** A call of a response. The loop does not run it; its job runs elsewhere. */
export interface CollectedCall extends RequestedCall {
  /** Why the call must not run. Absent: it may run. */
  readonly refusal?: string;
}

/** Refuses a call beyond the limit, and a call with too long arguments. The place where the call runs checks whether its tool exists. */
export function toCollectedCall(
  { ordinal, callId, name, arguments: text, disposition }: PlannedCall,
  maxCalls: number,
): CollectedCall {
  const isInvalid = disposition.type === 'settled' && disposition.status === 'error';
  const refusal = ordinal > maxCalls ? tooManyCalls(maxCalls) : isInvalid ? disposition.failure.message : null;
  return { callId, name, arguments: text, ...(refusal === null ? {} : { refusal }) };
}

function tooManyCalls(max: number): string {
  return `Not run: a response may have ${max} tool calls. Ask for this call again if it is still needed.`;
}
