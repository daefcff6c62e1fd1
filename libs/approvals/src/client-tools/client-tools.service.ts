import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { isId } from '#platform';
import { AwaitingCallsRepository, callUpdated, type FilteredEnd } from '#tools';

import { StartGate } from '../gate/start-gate.js';
import { claimDigest, type ClaimedPayload, isSameDigest, newClaimToken, submissionDigest } from './claim-digest.js';
import { type ClientAnswer, toClientAnswer } from './client-answer.js';
import { type CallOfJob, ClientCallEnds } from './client-call-ends.js';
import { ClientCalls, isPending, type LockedClientCall } from './client-calls.js';
import { type CallContext, ClientClaimsRepository } from './client-claims.repository.js';
import { alreadyClaimed, claimChanged, claimLost, notPending, otherDevice } from './client-tools.errors.js';

/** The exclusive right of one client to run a call. */
export interface Claim {
  /** Required to validate and to submit. The server returns it only once. */
  readonly claimToken: string;
  readonly call: { readonly id: string } & Pick<ClaimedPayload, 'name' | 'arguments' | 'definition'>;
  readonly context: CallContext & { readonly workspaceId: string };
  /** Ms since the epoch. */
  readonly expiresAt: number;
}

/** A call, and the claim on it. */
export interface ClaimRef {
  readonly callId: string;
  readonly claimToken: string;
}

/** The result that a client submits. */
interface Offer extends ClaimRef {
  readonly principal: Principal;
  readonly jobId: string;
  readonly answer: ClientAnswer;
}

/** The facts that `submit` determines about a result while the job is not locked. */
interface Known {
  /** Whether the policy allows the call to run; null: not checked. */
  readonly mayRun: boolean | null;
  /** The end of the call after the hooks of its result; null: the hooks have not run. */
  readonly end: FilteredEnd | null;
}

/** The status of a submitted result. `unjudged`: the policy must be checked first; `unfiltered`: the hooks must run first. */
type Taken = 'accepted' | 'denied' | 'unjudged' | { readonly unfiltered: CallOfJob };

/** How long a claim lasts, and how long after the tool's timeout the server still accepts its result. */
const CLAIM_MS = 30_000;

/**
 * Calls that the clients of a user run. One client at a time claims a call, validates the claim before the tool starts, and submits the
 * result once. All state is in rows, so any process can respond, also after a restart. `ClientCalls.hold` documents who may do so, and the
 * errors that every method can throw.
 */
@Injectable()
export class ClientToolsService {
  constructor(
    private readonly clientCalls: ClientCalls,
    private readonly calls: AwaitingCallsRepository,
    private readonly claims: ClientClaimsRepository,
    private readonly ends: ClientCallEnds,
    private readonly gate: StartGate,
  ) {}

  /**
   * Claims a call for 30 s; of several clients, one succeeds. A client that lost the response waits until its own claim has expired, like any
   * other client, because the server returns the token only once. Throws `not_pending`, `other_device`, `already_claimed`.
   */
  claim(
    principal: Principal,
    jobId: string,
    { callId, deviceId }: { readonly callId: string; readonly deviceId: string },
  ): Promise<Claim> {
    return this.clientCalls.withLocked(principal, { jobId, callId }, async (locked) => {
      const { job, call, interrupt, claim, payload } = locked;
      if (!isPending(locked)) throw notPending(call.status);
      if (interrupt.deviceId !== null && interrupt.deviceId !== deviceId) throw otherDevice(call.status);
      if (claim.isHeld || claim.isValidated) throw alreadyClaimed(call.status);
      const claimToken = newClaimToken();
      const digest = claimDigest(claimToken, payload);
      const { id } = interrupt;
      const expiresAt = await this.claims.claim(job, {
        id,
        digest,
        device: deviceId,
        by: principal.id,
        lastsMs: CLAIM_MS,
      });
      const { name, arguments: args, definition } = payload;
      return {
        claimToken,
        call: { id: callId, name, arguments: args, definition },
        context: { workspaceId: job.workspaceId, ...(await this.claims.contextOf(job)) },
        expiresAt,
      };
    });
  }

  /**
   * Starts a claimed call. The client validates right before it runs the tool: from then on the call counts as started, and the claim lasts
   * for the tool's timeout plus 30 s. A repeated validation succeeds and does not move the end. Throws `claim_changed`; then the client must
   * not run the tool. If the policy or the requester's rights no longer allow the call, it ends as denied.
   */
  async validate(
    principal: Principal,
    jobId: string,
    { callId, claimToken }: ClaimRef,
  ): Promise<{ readonly valid: true; readonly expiresAt: number }> {
    const mayRun = await this.mayRun(principal, jobId, callId);
    const validated = await this.clientCalls.withLocked(principal, { jobId, callId }, async (locked) => {
      const { job, call, claim, toolTimeoutMs } = locked;
      if (!isPending(locked) || !holdsClaim(locked, claimToken)) throw claimChanged(call.status);
      if (claim.isValidated && claim.until !== null)
        return { valid: true, expiresAt: Math.round(claim.until) } as const;
      if (!mayRun) {
        await this.ends.deny(locked);
        return null;
      }
      const expiresAt = await this.claims.validate(job, claim.id, toolTimeoutMs + CLAIM_MS);
      await this.calls.startAtClient(job, call);
      job.append(callUpdated({ ...call, status: 'running' }));
      return { valid: true, expiresAt } as const;
    });
    if (validated === null) throw claimChanged('denied');
    return validated;
  }

  /**
   * Accepts the outcome of a call once; the job continues when it has no open calls. A repeated submission is accepted again. If the claim
   * was not validated, the policy is checked first, as in `validate`: a call that may no longer run ends as denied, and its result is
   * dropped. Throws `bad_request`, `too_large`, `not_pending` (settled otherwise, or its job has ended), `claim_lost`.
   */
  async submit(
    principal: Principal,
    jobId: string,
    given: ClaimRef & { readonly result?: string | null; readonly error?: string | null },
  ): Promise<{ readonly accepted: true }> {
    const { callId } = given;
    const answer = toClientAnswer(given);
    const offer = { principal, jobId, callId, claimToken: given.claimToken, answer };
    let known: Known = { mayRun: null, end: null };
    let taken = await this.take(offer, known);
    if (taken === 'unjudged') {
      known = { ...known, mayRun: await this.mayRun(principal, jobId, callId) };
      taken = await this.take(offer, known);
    }
    if (typeof taken === 'object') {
      known = { ...known, end: await this.ends.filtered(taken.unfiltered, answer) };
      taken = await this.take(offer, known);
    }
    if (taken !== 'accepted') throw notPending('denied');
    return { accepted: true };
  }

  /** Settles the call, or leaves it unchanged and returns the check that must run first. */
  private take({ principal, jobId, callId, claimToken, answer }: Offer, { mayRun, end }: Known): Promise<Taken> {
    const submission = submissionDigest(claimToken, answer);
    return this.clientCalls.withLocked(principal, { jobId, callId }, async (locked) => {
      if (locked.interrupt.outcome?.['submission'] === submission) return 'accepted';
      if (!isPending(locked)) throw notPending(locked.call.status);
      if (!holdsClaim(locked, claimToken)) throw claimLost(locked.call.status);
      if (!locked.claim.isValidated && mayRun !== true) {
        if (mayRun === null) return 'unjudged';
        await this.ends.deny(locked);
        return 'denied';
      }
      const { job, call, claim } = locked;
      const { workspaceId } = job;
      if (end === null && this.ends.hooksMs !== null) {
        // The client has reported in time, so its claim must not expire while the hooks run.
        await this.claims.extend(job, claim.id, this.ends.hooksMs + CLAIM_MS);
        return { unfiltered: { workspaceId, jobId: job.jobId, id: call.id, name: call.name } };
      }
      const settled = end ?? this.ends.unhooked(call, answer, workspaceId);
      await this.ends.take(locked, settled, { submission, by: principal.id });
      return 'accepted';
    });
  }

  /** Runs before the lock of the job is taken. Its result applies only after `ClientCalls.hold` has checked the caller. */
  private async mayRun({ workspaceId }: Principal, jobId: string, callId: string): Promise<boolean> {
    if (!isId(jobId)) return false;
    const answer = await this.gate.ask({ workspaceId, jobId, callId }, null);
    return answer?.type === 'run';
  }
}

function holdsClaim({ claim, payload }: LockedClientCall, token: string): boolean {
  return claim.isHeld && isSameDigest(claim.digest, claimDigest(token, payload));
}
