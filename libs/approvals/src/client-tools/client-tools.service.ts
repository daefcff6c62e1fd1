import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { isId } from '#platform';
import { AwaitingCallsRepository, callUpdated, type FilteredEnd } from '#tools';

import { StartGate } from '../gate/start-gate.js';
import { claimDigest, type ClaimedPayload, isSameDigest, newClaimToken, submissionDigest } from './claim-digest.js';
import { type ClientAnswer, toClientAnswer } from './client-answer.js';
import { type CallOfJob, ClientCallEnds } from './client-call-ends.js';
import { ClientCalls, type HeldClientCall, isPending } from './client-calls.js';
import { type CallContext, ClientClaimsRepository } from './client-claims.repository.js';
import { alreadyClaimed, claimChanged, claimLost, notPending, otherDevice } from './client-tools.errors.js';

/** A call that this client, and no other, may now serve. */
export interface Claim {
  /** Needed to validate and to submit; returned only once. */
  readonly claimToken: string;
  readonly call: { readonly id: string } & Pick<ClaimedPayload, 'name' | 'arguments' | 'definition'>;
  readonly context: CallContext & { readonly workspaceId: string };
  /** Ms since the epoch. */
  readonly expiresAt: number;
}

/** Which call, and by which claim. */
export interface ClaimRef {
  readonly callId: string;
  readonly claimToken: string;
}

/** A client's answer on its way in. */
interface Offer extends ClaimRef {
  readonly principal: Principal;
  readonly jobId: string;
  readonly answer: ClientAnswer;
}

/** What is found out about a result between two looks at its call. */
interface Known {
  /** Whether the policy lets the call run; null: not checked. */
  readonly mayRun: boolean | null;
  /** The end of the call after the hooks of its result; null: they did not run. */
  readonly end: FilteredEnd | null;
}

/** What became of a result, or what has to be known before it is taken. */
type Taken = 'accepted' | 'denied' | 'unjudged' | { readonly unfiltered: CallOfJob };

/** How long a claim lasts, and how long beyond the tool's own time its result is waited for. */
const CLAIM_MS = 30_000;

/**
 * Calls that the clients of a user run. Claimed by one client at a time, validated before the tool starts, submitted once;
 * everything is in rows, so any process responds, also after restarts. Who may: see `ClientCalls.hold`, which also
 * documents what each method throws besides its own errors.
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
   * Takes the right to serve a call, for 30 s; one winner. A client that lost the reply waits until its claim has lapsed, as
   * every principal does: the token is returned only once. Throws `not_pending`, `other_device`, `already_claimed`.
   */
  claim(
    principal: Principal,
    jobId: string,
    { callId, deviceId }: { readonly callId: string; readonly deviceId: string },
  ): Promise<Claim> {
    return this.clientCalls.hold(principal, { jobId, callId }, async (held) => {
      const { job, call, interrupt, claim, payload } = held;
      if (!isPending(held)) throw notPending(call.status);
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
   * To be asked right before the tool is run: from here on the call counts as started, and the claim lasts for the tool's
   * time and 30 s. May be repeated; the end stays. Throws `claim_changed`: then the tool must not be run. A call that the policy
   * or its requester's rights do not let run any more ends as denied.
   */
  async validate(
    principal: Principal,
    jobId: string,
    { callId, claimToken }: ClaimRef,
  ): Promise<{ readonly valid: true; readonly expiresAt: number }> {
    const mayRun = await this.mayRun(principal, jobId, callId);
    const validated = await this.clientCalls.hold(principal, { jobId, callId }, async (held) => {
      const { job, call, claim, toolTimeoutMs } = held;
      if (!isPending(held) || !holdsClaim(held, claimToken)) throw claimChanged(call.status);
      if (claim.isValidated && claim.until !== null)
        return { valid: true, expiresAt: Math.round(claim.until) } as const;
      if (!mayRun) {
        await this.ends.deny(held);
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
   * Takes the outcome of the call once; the job continues when no call of it is open. A repeated submission is accepted again.
   * A call that was not validated is judged first, as `validate` would: what may not run any more ends as denied, and its
   * result is dropped. Throws `bad_request`, `too_large`, `not_pending` (settled otherwise, or its job is over), `claim_lost`.
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

  /** A call stays as it is while something has to be known about it. */
  private take({ principal, jobId, callId, claimToken, answer }: Offer, { mayRun, end }: Known): Promise<Taken> {
    const submission = submissionDigest(claimToken, answer);
    return this.clientCalls.hold(principal, { jobId, callId }, async (held) => {
      if (held.interrupt.outcome?.['submission'] === submission) return 'accepted';
      if (!isPending(held)) throw notPending(held.call.status);
      if (!holdsClaim(held, claimToken)) throw claimLost(held.call.status);
      if (!held.claim.isValidated && mayRun !== true) {
        if (mayRun === null) return 'unjudged';
        await this.ends.deny(held);
        return 'denied';
      }
      const { job, call, claim } = held;
      const { workspaceId } = job;
      if (end === null && this.ends.hooksMs !== null) {
        // The client has reported in time: its claim does not lapse while the hooks run.
        await this.claims.extend(job, claim.id, this.ends.hooksMs + CLAIM_MS);
        return { unfiltered: { workspaceId, jobId: job.jobId, id: call.id, name: call.name } };
      }
      const settled = end ?? this.ends.unhooked(call, answer, workspaceId);
      await this.ends.take(held, settled, { submission, by: principal.id });
      return 'accepted';
    });
  }

  /** Asked before anything is held, and believed only by those who may serve the call. */
  private async mayRun({ workspaceId }: Principal, jobId: string, callId: string): Promise<boolean> {
    if (!isId(jobId)) return false;
    const answer = await this.gate.ask({ workspaceId, jobId, callId }, null);
    return answer?.type === 'run';
  }
}

function holdsClaim({ claim, payload }: HeldClientCall, token: string): boolean {
  return claim.isHeld && isSameDigest(claim.digest, claimDigest(token, payload));
}
