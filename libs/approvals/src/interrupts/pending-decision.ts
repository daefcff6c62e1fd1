import type { Principal } from '#auth';
import { alreadyAnswered, type Interrupt, type LockedInterrupt, requestExpired } from '#jobs';
import { canonicalJson } from '#tools';

import { mayDecide } from '../policies/may-decide.js';
import { cannotDecide } from './interrupts.errors.js';

/** A decision as it is stored, to recognize a repeated one. */
export type KeptAnswer = Readonly<Record<string, unknown>>;

/**
 * Whether the locked request is still open. False: the same decision is already stored.
 * Throws `cannot_decide`, `already_answered` with the stored outcome, or `expired`.
 */
export function mayTakeAnswer({ interrupt, job }: LockedInterrupt, principal: Principal, answer: KeptAnswer): boolean {
  assertEntitled(principal, interrupt);
  const { status, outcome, expiresAt } = interrupt;
  if (status === 'expired') throw requestExpired();
  if (status !== 'open') {
    if (canonicalJson(outcome?.['answer']) === canonicalJson(answer)) return false;
    throw alreadyAnswered(interrupt);
  }
  if (!job.isOpen) throw alreadyAnswered({ status: 'cancelled', outcome: null });
  if (expiresAt !== null && expiresAt <= Date.now()) throw requestExpired();
  return true;
}

/** Throws `cannot_decide`. */
export function assertEntitled(principal: Principal, interrupt: Interrupt): void {
  const { workspaceId, decidableBy, fourEyes, adminRequired, requester } = interrupt;
  const request = { workspaceId, decidableBy, fourEyes, adminRequired, requester, jobCreatedBy: requester };
  if (!mayDecide(principal, request)) throw cannotDecide();
}
