import { Injectable, type OnModuleInit } from '@nestjs/common';

import {
  type DueHandler,
  type ExpireAction,
  type InterruptSettlement,
  InterruptSettler,
  InterruptTimers,
  type LockedInterrupt,
} from '#jobs';
import {
  AwaitingCallsRepository,
  CallEnds,
  callUpdated,
  clientOnly,
  type LockedCall,
  type Settlement,
  UNKNOWN_OUTCOME_TEXT,
} from '#tools';

import { UnknownOutcomes } from '../interrupts/unknown-outcomes.js';
import { type ClaimState, ClientClaimsRepository } from './client-claims.repository.js';

interface Looked {
  readonly call: LockedCall;
  readonly claim: ClaimState;
}

/** Handles calls that no client ran in time, and calls whose client claimed them and then stopped reporting. */
@Injectable()
export class ClientToolTimeouts implements DueHandler, OnModuleInit {
  readonly kind = 'client_tool';

  constructor(
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
    private readonly claims: ClientClaimsRepository,
    private readonly settler: InterruptSettler,
    private readonly unknown: UnknownOutcomes,
    private readonly timers: InterruptTimers,
  ) {}

  onModuleInit(): void {
    this.timers.register(this);
  }

  /** Handles the timeout that the request declared. A claim extends the timeout, so a client that runs the call can finish. */
  async expire(locked: LockedInterrupt): Promise<InterruptSettlement | null> {
    const { call, claim } = await this.look(locked);
    if (claim.isHeld) return null;
    if (call.status === 'running' && call.effect === 'once') return this.lose(locked, { call, claim });
    const { request, expireAction } = locked.interrupt;
    const end = request['handedOver'] === true ? notProvidedInTime() : timedOutAtClients(call.name, expireAction);
    await this.ends.record(locked.job, call, end);
    // A job that is about to fail does not wait for the results of its other open calls.
    const runnable = expireAction === 'fail';
    return { status: 'expired', outcome: { outcome: end.status }, by: null, runnable };
  }

  /** Handles the end of a validated claim. Another client may claim the call, except if its effect is `once`. */
  async lapse(locked: LockedInterrupt): Promise<InterruptSettlement | null> {
    const { call, claim } = await this.look(locked);
    if (claim.isHeld || !claim.isValidated) return null;
    if (call.effect === 'once') return this.lose(locked, { call, claim });
    await this.claims.free(locked.job, claim.id);
    await this.calls.backToClients(locked.job, call);
    locked.job.append(callUpdated({ ...call, status: 'awaiting_client' }));
    return null;
  }

  /**
   * Marks the outcome of the call as unknown. A call has one open request at a time, so this request ends before the request to a person
   * opens.
   */
  private async lose(locked: LockedInterrupt, { call, claim }: Looked): Promise<null> {
    const { job } = locked;
    const failure = { phase: 'execution', message: UNKNOWN_OUTCOME_TEXT } as const;
    await this.ends.record(job, call, { status: 'interrupted', failure });
    await this.settler.store(locked, { status: 'expired', outcome: { outcome: 'interrupted' }, by: null });
    await this.unknown.open(job, call, { worker: claim.device === null ? null : `client ${claim.device}` });
    await this.settler.requeueIfSettled(job);
    return null;
  }

  private async look({ job, interrupt }: LockedInterrupt): Promise<Looked> {
    const call = interrupt.toolCallId === null ? null : await this.calls.find(job, interrupt.toolCallId);
    const claim = call === null ? null : await this.claims.find(job, call.id);
    if (call === null || claim?.id !== interrupt.id) throw new Error(`interrupt ${interrupt.id} is about no call`);
    return { call, claim };
  }
}

/** The error code of a job whose request chose `fail`. */
const CLIENT_TIMEOUT_CODE = 'client_tool_timeout';

/** The error code of a job whose handed-over calls got no results in time. */
const HANDED_OVER_TIMEOUT_CODE = 'client_tool_expired';

type TimedOut = Settlement & { readonly status: 'timed_out' | 'skipped' };

/** How a call ends if no later request delivers its result in time. Pure. */
function notProvidedInTime(): TimedOut {
  const message = 'Tool result was not provided in time';
  return { status: 'timed_out', failure: { phase: 'timeout', message, failJob: HANDED_OVER_TIMEOUT_CODE } };
}

/** How a call ends if no client runs it in time, by the declared action. Pure. */
function timedOutAtClients(name: string, action: ExpireAction): TimedOut {
  const phase = 'timeout';
  if (action === 'skip') return { status: 'skipped', failure: { phase, message: clientOnly(name) } };
  const message = `No client ran tool "${name}" in time.`;
  const failJob = action === 'fail' ? { failJob: CLIENT_TIMEOUT_CODE } : {};
  return { status: 'timed_out', failure: { phase, message, ...failJob } };
}
