import { interruptOpened, openInterruptRow } from '#jobs';
import type { ModelError } from '#models';
import { AppError, newId, systemClock, toStorableText, waitUnlessAborted } from '#platform';

import { atNode, type CallingRun } from '../calls/calling-run.js';
import type { StoredOutage } from './outages.repository.js';
import { type Outage, planRetry, type RetryPlan, type RetryPolicy } from './plan-retry.js';

/** A model request that failed because the provider was unavailable. */
export interface FailedRequest {
  readonly failure: ModelError;
  readonly round: number;
  /** Number of rounds that the conversation has committed. */
  readonly committed: number;
}

/** The job waits for this interrupt. */
interface Paused {
  readonly type: 'paused';
  readonly interruptId: string;
}

/** The job must not call its model, and fails. */
interface Refused {
  readonly type: 'refused';
  readonly error: AppError;
}

/** The reaction of a conversation to a failed request. `failed` with a null error: the conversation fails with the error of the request. */
export type AfterFailure =
  | Paused
  | { readonly type: 'ask'; readonly ask: 'again' | 'probe' }
  | { readonly type: 'released' }
  | { readonly type: 'failed'; readonly error: AppError | null };

/** Options and dependencies of `ConversationOutage`. */
export interface OutageServices {
  readonly policy: RetryPolicy;
  /** Whether an earlier claim, or this one, may have waited for the provider. */
  readonly mayHaveWaited: () => boolean;
  readonly newest: (place: string) => Promise<StoredOutage | null>;
  /** The error that forbids further calls of the model; null if the job may call it. */
  readonly refusal: () => Promise<AppError | null>;
  readonly onWait: () => void;
}

/** Counts the failed requests of one conversation. The counts survive waits, because the interrupts of the waits contain them. */
export class ConversationOutage {
  private current: (Outage & { readonly committed: number }) | undefined;
  private stored: StoredOutage | null | undefined;
  /** A person asked for a retry, so the request is sent even if requests are paused. */
  private mayProbe = false;

  constructor(
    private readonly run: CallingRun,
    private readonly services: OutageServices,
  ) {}

  /** Returns what prevents the model call of a round, or null. If a wait is still open, the job continues to wait for its interrupt. */
  async before(): Promise<Paused | Refused | null> {
    const error = await this.services.refusal();
    if (error !== null) return { type: 'refused', error };
    if (this.stored !== undefined || !this.services.mayHaveWaited()) return null;
    const stored = await this.load();
    return stored?.outcome === null ? { type: 'paused', interruptId: stored.id } : null;
  }

  /** Decides what follows a failed request, emits `model-retry`, and sleeps for a short wait. */
  async after({ failure, round, committed }: FailedRequest): Promise<AfterFailure> {
    if (this.run.signal.aborted) return { type: 'failed', error: null };
    if (this.mustLeave()) return { type: 'released' };
    await this.load();
    const isProbe = failure.isPaused && this.mayProbe;
    this.mayProbe = false;
    if (isProbe) return { type: 'ask', ask: 'probe' };
    const outage = this.count(failure, committed);
    const now = systemClock.now();
    const plan = planRetry(outage, failure, { policy: this.services.policy, now, random: Math.random });
    switch (plan.type) {
      case 'fail':
        return { type: 'failed', error: plan.isTimeOver ? timeOver(failure, this.services.policy.waitForMs) : null };
      case 'retry':
        this.emitRetry({ failure, round }, { delayMs: plan.delayMs, retryAt: now + plan.delayMs, waits: false });
        await waitUnlessAborted(plan.delayMs, systemClock, this.run.signal).catch(() => undefined);
        return this.mustLeave() ? { type: 'released' } : { type: 'ask', ask: 'again' };
      case 'wait':
        this.emitRetry({ failure, round }, { delayMs: plan.delayMs, retryAt: plan.at, waits: true });
        return { type: 'paused', interruptId: this.openWait({ failure, committed }, plan) };
    }
  }

  /** The process drains; nothing of the round is shown, so another worker can request it. */
  private mustLeave(): boolean {
    return this.run.draining && !this.run.signal.aborted;
  }

  /** Reads the stored counts once, because an earlier worker may have counted failures of the same round. */
  private async load(): Promise<StoredOutage | null> {
    if (this.stored !== undefined) return this.stored;
    const stored = this.services.mayHaveWaited() ? await this.services.newest(this.place) : null;
    this.stored = stored;
    if (stored !== null) this.current = stored;
    this.mayProbe = stored?.outcome === 'retry';
    return stored;
  }

  private count({ isPaused }: ModelError, committed: number): Outage {
    const known = this.current?.committed === committed ? this.current : undefined;
    const { since = systemClock.now(), failures = 0 } = known ?? {};
    this.current = { since, failures: isPaused ? failures : failures + 1, committed };
    return this.current;
  }

  private emitRetry(
    { failure, round }: Pick<FailedRequest, 'failure' | 'round'>,
    next: { readonly delayMs: number; readonly retryAt: number; readonly waits: boolean },
  ): void {
    const { failures = 0 } = this.current ?? {};
    const body = { round, failures, ...next, code: failure.code, reason: toStorableText(failure.message) };
    this.run.append({ events: [{ type: 'model-retry', body }] });
  }

  private openWait(
    { failure, committed }: Pick<FailedRequest, 'failure' | 'committed'>,
    { at, givesUpAt }: Extract<RetryPlan, { type: 'wait' }>,
  ): string {
    const { run, current } = this;
    const id = newId();
    const { since = at, failures = 0 } = current ?? {};
    const request = {
      ...{ code: failure.code, reason: toStorableText(failure.message), retryAt: at, since, givesUpAt, failures },
      ...{ committed, place: this.place, decisions: ['retry', 'give_up'] },
    };
    const interrupt = atNode(
      {
        id,
        kind: 'provider_unavailable',
        title: 'The model provider is unavailable',
        request,
        threadId: run.job.threadId,
        requester: run.job.createdBy,
        decidableBy: 'members',
        expiresAt: at,
      },
      run.node,
    );
    this.services.onWait();
    run.append({ rows: [openInterruptRow(run.job, interrupt)], events: [interruptOpened(interrupt)] });
    return id;
  }

  private get place(): string {
    const { node } = this.run;
    return node === undefined ? 'job' : JSON.stringify([node.nodeRun, node.branch]);
  }
}

function timeOver({ code, message, retryable }: ModelError, waitForMs: number): AppError {
  const hours = Math.round(waitForMs / 360_000) / 10;
  const time = hours >= 0.1 ? `${hours} hours` : `${waitForMs} ms`;
  return new AppError({ code, message: `The model provider did not recover within ${time}. ${message}`, retryable });
}
