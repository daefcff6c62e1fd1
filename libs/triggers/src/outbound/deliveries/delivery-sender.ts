import { Injectable } from '@nestjs/common';

import { WorkspaceSecrets } from '#integrations';
import {
  AppError,
  type Clock,
  crashpoint,
  OutboundError,
  type OutboundResponse,
  Redactor,
  type Secret,
  SecretBox,
  systemClock,
  toStorableText,
} from '#platform';

import { signatureHeaders } from '../../signature.js';
import { type DeliveryRef, type DueDelivery } from '../deliveries.repository.js';
import { judgeResponse, nextDelayMs, type Outgoing, type Tried, unsent, type Verdict } from '../delivery.js';
import { DeliveryRate } from '../delivery-rate.js';
import { openSecrets } from '../endpoint-secrets.js';
import { channelPolicy, ChannelSender } from '../notifications/channel-sender.js';
import { PreIssuedTokens } from '../pre-issued-tokens.js';
import { isBlocked, WebhookClient } from '../webhook-client.js';
import { Deliveries } from './deliveries.service.js';

const endpointTimeoutMs = 15_000;
const excerptBytes = 1_024;

/** Receives webhooks for a path of this server, without a network hop. Throws to have the delivery repeated; after an `AppError` that is not retryable it is a dead letter. */
export type LocalTarget = (request: {
  readonly workspaceId: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}) => Promise<Pick<OutboundResponse, 'status' | 'headers' | 'body'>>;

/** Headers that a target must not set itself. */
const reserved = new Set([
  'content-type',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'x-syntrix-signature',
  'x-nightshift-delivery',
]);

/** Sends one webhook and stores the result. After a crash between the two it is sent again, with the same id. */
@Injectable()
export class DeliverySender {
  /** Tests replace it. */
  clock: Clock = systemClock;
  /** Tests replace it. */
  random: () => number = Math.random;
  private local: LocalTarget | undefined;

  constructor(
    private readonly deliveries: Deliveries,
    private readonly client: WebhookClient,
    private readonly workspaceSecrets: WorkspaceSecrets,
    private readonly secretBox: SecretBox,
    private readonly redactor: Redactor,
    private readonly channels: ChannelSender,
    private readonly rate: DeliveryRate,
    private readonly tokens: PreIssuedTokens,
  ) {}

  /** Receives the webhooks for URLs without a host. Registered once, at boot. */
  registerLocal(target: LocalTarget): void {
    this.local = target;
  }

  /** Sends the delivery if message `number` is its newest one and its turn has come. Over the rate of its trigger it is postponed. */
  async send(ref: DeliveryRef, number: number): Promise<void> {
    const due = await this.deliveries.findDue(ref, number);
    if (due === null) return;
    const postponedMs = due.target === null ? 0 : await this.rate.take(due.target);
    if (postponedMs > 0) return this.deliveries.postpone(due, postponedMs);
    const [at, started] = [this.clock.now(), this.clock.monotonic()];
    const { verdict, attempt } = await this.attempt(due);
    crashpoint('webhook-sent');
    const durationMs = Math.round(this.clock.monotonic() - started);
    await this.deliveries.settle(due, {
      verdict,
      attempt: attempt === null ? null : { ...attempt, at, durationMs },
      delayMs: attempt === null && verdict.kind === 'retry' ? (verdict.notBeforeMs ?? 0) : this.delayMs(due, verdict),
    });
  }

  /** Null: no further attempt. */
  private delayMs({ target, channelId, attempts }: DueDelivery, verdict: Verdict): number | null {
    if (verdict.kind !== 'retry') return null;
    const delay = nextDelayMs(channelId === null ? (target?.policy ?? null) : channelPolicy, attempts + 1, this.random);
    return delay === null ? null : Math.max(delay, verdict.notBeforeMs ?? 0);
  }

  private async attempt(due: DueDelivery): Promise<Tried> {
    if (due.endpoint?.enabled === false) return unsent('endpoint_disabled');
    try {
      const { channelId } = due;
      if (channelId !== null)
        return await this.channels.attempt(due, channelId, (outgoing) => this.post(due, outgoing));
      const outgoing = await this.outgoingOf(due);
      if (outgoing === null) return unsent('secret_missing');
      return await this.post(due, outgoing);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (!(error instanceof OutboundError)) {
        if (error.retryable) throw error;
        return unsent(error.code); // such as `secret_unreadable`: another attempt would fail in the same way
      }
      if (isBlocked(error)) return unsent('blocked_address');
      if (error.code === 'outbound_request_invalid') return unsent(error.code);
      return {
        verdict: { kind: 'retry', error: error.code },
        attempt: { status: null, error: error.code, excerpt: '' },
      };
    }
  }

  /** Null: a secret does not exist. */
  private async outgoingOf({ workspaceId, endpointId, target, endpoint }: DueDelivery): Promise<Outgoing | null> {
    if (target !== null) {
      const { url, headers, signature, secretNames, policy } = target;
      const found = await this.workspaceSecrets.resolve(workspaceId, secretNames);
      const secrets = secretNames.flatMap((name) => found.get(name) ?? []);
      if (secrets.length < secretNames.length) return null;
      const token = target.token == null ? null : this.tokens.mint({ workspaceId, ...target.token });
      return { url, headers, signature, secrets, timeoutMs: policy.timeoutMs, token };
    }
    if (endpoint === null || endpointId === null) throw new Error('a delivery has neither endpoint nor target');
    const { url, headers, signature } = endpoint;
    const moment = { stored: endpoint.secrets, now: this.clock.now() };
    const secrets = openSecrets(this.secretBox, { workspaceId, id: endpointId }, moment);
    return { url, headers, signature, secrets, timeoutMs: endpointTimeoutMs };
  }

  private async post({ workspaceId, id, body: stored }: DueDelivery, outgoing: Outgoing): Promise<Tried> {
    const { url, signature, secrets, timeoutMs, token = null } = outgoing;
    const body = token === null ? stored : withToken(stored, token);
    const timestamp = Math.floor(this.clock.now() / 1_000);
    const revealed = secrets.map((secret) => secret.reveal());
    const headers = {
      ...Object.fromEntries(Object.entries(outgoing.headers).filter(([name]) => !reserved.has(name.toLowerCase()))),
      'Content-Type': 'application/json',
      'User-Agent': 'Nightshift-Webhooks/1',
      ...signatureHeaders(signature, revealed, { id, timestamp, body }),
    };
    const answer = url.startsWith('/')
      ? await this.postLocally({ workspaceId, path: url, headers, body })
      : await this.client.post({ url, headers, body, timeoutMs });
    const verdict = judgeResponse(answer, this.clock.now());
    const error = verdict.kind === 'delivered' ? null : `http_${answer.status}`;
    const hidden = token === null ? secrets : [...secrets, token];
    const release = hidden.map((secret) => this.redactor.add(secret, workspaceId));
    const excerpt = this.excerptOf(workspaceId, answer.body);
    for (const done of release) done();
    return { verdict, attempt: { status: answer.status, error, excerpt } };
  }

  private async postLocally(request: Parameters<LocalTarget>[0]): ReturnType<LocalTarget> {
    if (this.local === undefined) return { status: 404, headers: {}, body: new Uint8Array() };
    try {
      return await this.local(request);
    } catch (error) {
      if (error instanceof AppError && !error.retryable) throw error;
      return { status: 500, headers: {}, body: new Uint8Array() };
    }
  }

  private excerptOf(workspaceId: string, body: Uint8Array): string {
    const text = new TextDecoder().decode(body.subarray(0, excerptBytes));
    const redactor = this.redactor.of(workspaceId);
    return toStorableText(body.length > excerptBytes ? redactor.redactCut(text) : redactor.redact(text));
  }
}

/** The stored body has no token: a dead letter may be sent again after days, with a new one. */
function withToken(body: string, token: Secret): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), preIssuedToken: token.reveal() });
}
