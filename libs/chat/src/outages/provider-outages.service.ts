import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, PrincipalsRepository } from '#auth';
import type { ClaimedJob } from '#jobs';
import { AppError, Config } from '#platform';

import type { CallingRun } from '../calls/calling-run.js';
import { ConversationOutage } from './conversation-outage.js';
import { OutagesRepository } from './outages.repository.js';
import type { RetryPolicy } from './plan-retry.js';

/** The settings of a start or an agent for failed model requests; absent fields: the settings of the installation. */
export interface ProviderDownOptions {
  /** For how long (ms) failed requests are retried with a backoff of at most about one minute. */
  readonly modelRetryForMs?: number;
  /** `fail`: the job fails instead of waiting. */
  readonly onProviderDown?: 'wait' | 'fail';
}

/**
 * Decides whether a job may call its model, and what follows a request that failed because the provider cannot be used: a retry, or a wait of
 * the job.
 */
@Injectable()
export class ProviderOutages {
  /** Jobs that have waited under their current claim. */
  private readonly waited = new WeakSet<ClaimedJob>();

  constructor(
    private readonly outages: OutagesRepository,
    private readonly principals: PrincipalsRepository,
    private readonly config: Config,
  ) {}

  /** The failed requests of one conversation, under one claim. `terms`: settings in order of precedence; those of the installation come last. */
  of(run: CallingRun, terms: readonly (ProviderDownOptions | undefined)[]): ConversationOutage {
    const mayHaveWaited = () => run.job.epoch > 1 || this.waited.has(run.job);
    return new ConversationOutage(run, {
      policy: this.policyFor(run, terms),
      mayHaveWaited,
      newest: (place) => this.outages.newest(run.job, place),
      refusal: async () => (await this.accessLost(run.job)) ?? (mayHaveWaited() ? await this.givenUp(run.job) : null),
      onWait: () => this.waited.add(run.job),
    });
  }

  /**
   * A job acts for its requester, so it stops calling its model when the requester may no longer start it. The check is at most a second old.
   */
  private async accessLost({ workspaceId, principal: id }: ClaimedJob): Promise<AppError | null> {
    if (id === 'system') return null;
    const principal = await this.principals.find(workspaceId, id);
    if (principal === null) return requesterLost(id.startsWith('key:') ? KEY_GONE : MEMBER_GONE);
    const row = { workspaceId, createdBy: principal.userId };
    return abilityOf(principal).can('create', asSubject('Job', row)) ? null : requesterLost(RIGHT_LOST);
  }

  private async givenUp(job: ClaimedJob): Promise<AppError | null> {
    const found = await this.outages.givenUp(job);
    if (found === null) return null;
    const message = `A member chose to stop waiting for the model provider. ${found.message}`;
    return new AppError({ code: found.code, message, retryable: true }); // a job waits for transient failures only
  }

  private policyFor({ node }: CallingRun, terms: readonly (ProviderDownOptions | undefined)[]): RetryPolicy {
    const { values } = this.config;
    const onProviderDown = firstOf(terms, 'onProviderDown') ?? values.ON_PROVIDER_DOWN;
    const retryForMs = firstOf(terms, 'modelRetryForMs') ?? values.MODEL_RETRY_FOR_MS;
    // A failed node is retried by its own rules. Retries here would multiply with those.
    const isLeftToNode = node !== undefined && onProviderDown === 'fail';
    return {
      retryForMs: isLeftToNode ? 0 : retryForMs,
      onProviderDown,
      backoffMs: values.MODEL_BACKOFF_MS,
      holdMs: values.MODEL_RETRY_HOLD_MS,
      waitForMs: values.MODEL_WAIT_FOR_MS,
    };
  }
}

function firstOf<Name extends keyof ProviderDownOptions>(
  terms: readonly (ProviderDownOptions | undefined)[],
  name: Name,
): ProviderDownOptions[Name] | undefined {
  return terms.find((one) => one?.[name] !== undefined)?.[name];
}

const MEMBER_GONE = 'The requester of the job is no longer a member of this workspace. Ask an owner to add them.';
const KEY_GONE =
  'The API key that started the job was revoked or has expired, or its user left this workspace. Start the job with another key.';
const RIGHT_LOST =
  'The requester of the job may no longer start jobs in this workspace. Ask an owner for the role member.';

function requesterLost(message: string): AppError {
  return new AppError({ code: 'requester_lost_access', message });
}
