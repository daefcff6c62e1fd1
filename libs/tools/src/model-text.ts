import { stoppedCall, unknownOutcome } from '#jobs';
import { toStorableText } from '#platform';

import { projectResult } from './project-result.js';
import type { LedgerCall } from './tool-call.js';
import { executionError } from './validate-arguments.js';

/** The text for a denied call, without the reason: the tool is unknown, not offered or blocked, or the requester lost a right. */
export function notRegistered(name: string): string {
  return `Tool "${name}" is not registered on server.`;
}

/** The tool has changed since the model requested the call or a person approved it. */
export function toolChanged(name: string): string {
  return `Tool "${name}" changed since this call was proposed. It was not run.`;
}

/** Only a client can run the tool, and the request has no client. */
export function clientOnly(name: string): string {
  return `Tool "${name}" is client-only.`;
}

const REJECTED = 'Tool execution rejected by user';
const longestReason = 500;

/** A person denied the call. The reason is data: one line, at most 500 characters. */
export function deniedText(reason: string | null): string {
  const line = toStorableText(reason ?? '').replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
  const shown = Array.from(line.trim()).slice(0, longestReason).join('');
  return shown === '' ? REJECTED : `${REJECTED}: ${shown}`;
}

export const APPROVAL_EXPIRED_TEXT = 'Tool execution timed out waiting for user approval';
/** The person skipped the question, or it expired. */
export const PERSON_SKIPPED_TEXT = 'The person skipped this question';
export const PERSON_SILENT_TEXT = 'No person answered this question in time';
export const CANCELLED_TEXT = stoppedCall.message;
export const UNKNOWN_OUTCOME_TEXT = unknownOutcome.message;
export const ROUND_LIMIT_TEXT = 'Tool call limit for this round reached';
export const IDENTICAL_TEXT = '(skipped: identical tool call already executed this turn)';

/**
 * The text that the model reads as the result of a call. It exists for every status, because the model needs a result for each call. An open
 * call gets the text that it would have if its job stopped now.
 */
export function modelTextOf(call: Pick<LedgerCall, 'name' | 'status' | 'effect' | 'result' | 'error'>): string {
  switch (call.status) {
    case 'completed':
      return projectResult(call.result ?? '', 'model');
    case 'interrupted':
      return call.error?.message ?? UNKNOWN_OUTCOME_TEXT;
    case 'running':
      return call.effect === 'once' ? UNKNOWN_OUTCOME_TEXT : CANCELLED_TEXT;
    case 'pending':
    case 'awaiting_approval':
    case 'awaiting_client':
    case 'cancelled':
      return call.error?.message ?? CANCELLED_TEXT;
    case 'denied':
      return call.error?.message ?? REJECTED;
    case 'skipped':
      return call.error?.message ?? notRegistered(call.name);
    case 'error':
    case 'timed_out':
      return call.error?.message ?? executionError(call.name, 'it failed');
  }
}
