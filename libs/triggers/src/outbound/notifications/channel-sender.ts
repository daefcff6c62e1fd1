import { randomInt } from 'node:crypto';

import { Inject, Injectable } from '@nestjs/common';

import { NotificationsRepository } from '#jobs';
import { type Clock, LOGGER, type Logger, Metrics, Secret, SecretBox, systemClock, toStorableText } from '#platform';

import type { DueDelivery } from '../deliveries.repository.js';
import { type Outgoing, type RetryPolicy, type Tried, unsent } from '../delivery.js';
import { type Mail, Mailer, MailError } from './mailer.js';
import type { NotificationBody } from './notification-body.js';
import { channelPlace, confirmType } from './notification-channel.js';
import { NotificationChannelsRepository, type SendingChannel } from './notification-channels.repository.js';
import { codeMail, notificationMail } from './notification-mail.js';
import { UnsubscribeLinks } from './unsubscribe-links.js';

const codeValidMs = 3_600_000;
const excerptLength = 1_024;
const hour = 3_600_000;

/** 12 attempts in about three and a half hours: by then the user has probably read the inbox. */
export const channelPolicy: RetryPolicy = {
  ...{ maxAttempts: 12, initialBackoffMs: 10_000, maxBackoffMs: hour, timeoutMs: 15_000 },
};

/** Sends a delivery of a notification channel, once. */
@Injectable()
export class ChannelSender {
  /** Tests replace it. */
  clock: Clock = systemClock;
  private readonly sends;

  constructor(
    private readonly channels: NotificationChannelsRepository,
    private readonly notifications: NotificationsRepository,
    private readonly mailer: Mailer,
    private readonly links: UnsubscribeLinks,
    private readonly secretBox: SecretBox,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.sends = notificationSends(metrics);
  }

  /** `post` sends a signed webhook. A delivery that must not be sent any more becomes a dead letter without an attempt. */
  async attempt(due: DueDelivery, channelId: string, post: (outgoing: Outgoing) => Promise<Tried>): Promise<Tried> {
    const { workspaceId, type, notificationId } = due;
    const channel = await this.channels.findForSending({ workspaceId, id: channelId });
    const reason = channel === null ? 'channel_removed' : refusalOf(channel, type);
    if (channel === null || reason !== null) return unsent(reason ?? 'channel_removed');
    if (notificationId !== null && (await this.notifications.isDone(workspaceId, notificationId)))
      return unsent('read');
    const tried = channel.kind === 'webhook' ? await post(this.outgoing(due, channel)) : await this.mail(due, channel);
    const outcome = tried.verdict.kind;
    this.sends.inc({ kind: channel.kind, outcome });
    const ids = {
      workspaceId,
      channelId,
      deliveryId: due.id,
      kind: channel.kind,
      outcome,
      error: tried.attempt?.error ?? null,
    };
    this.logger[outcome === 'delivered' ? 'info' : 'warn'](ids, 'a notification was sent over a channel');
    return tried;
  }

  private outgoing({ workspaceId }: DueDelivery, { id, address, secretCipher }: SendingChannel): Outgoing {
    if (secretCipher === null) throw new Error('a channel of the kind webhook has a secret');
    const secrets = [this.secretBox.open(secretCipher, channelPlace(workspaceId, id, 'secret'))];
    return { url: address, headers: {}, signature: 'standard', secrets, timeoutMs: channelPolicy.timeoutMs };
  }

  private async mail(due: DueDelivery, channel: SendingChannel): Promise<Tried> {
    const notBeforeMs = this.mailer.waitMs();
    if (notBeforeMs > 0) return { verdict: { kind: 'retry', error: 'smtp_busy', notBeforeMs }, attempt: null };
    try {
      const mail = await this.mailOf(due, channel);
      if (mail === null) return unsent('confirmed');
      const { status, response } = await this.mailer.send(mail);
      return { verdict: { kind: 'delivered' }, attempt: { status, error: null, excerpt: excerptOf(response) } };
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      const { code, result, isFinal } = error;
      const attempt = { status: result.status, error: code, excerpt: excerptOf(result.response) };
      return { verdict: isFinal ? { kind: 'dead', reason: code } : { kind: 'retry', error: code }, attempt };
    }
  }

  /** Null: the code is no longer needed. */
  private async mailOf({ workspaceId, id, type, body }: DueDelivery, channel: SendingChannel): Promise<Mail | null> {
    const envelope = { to: channel.address, id };
    if (type === confirmType) {
      const code = await this.newCode(workspaceId, channel);
      if (code === null) return null;
      return { ...envelope, ...codeMail(code), unsubscribe: null };
    }
    const unsubscribe = this.links.of(workspaceId, channel.id);
    // written by `notificationBody`
    return { ...envelope, ...notificationMail(JSON.parse(body) as NotificationBody, unsubscribe), unsubscribe };
  }

  /** A retry makes another code, so that no code is stored with a delivery; the latest one counts. */
  private async newCode(workspaceId: string, { id, address }: SendingChannel): Promise<string | null> {
    const code = String(randomInt(100_000_000)).padStart(8, '0');
    const cipher = this.secretBox.seal(new Secret(code), channelPlace(workspaceId, id, 'code'));
    const until = new Date(this.clock.now() + codeValidMs);
    return (await this.channels.setCode({ workspaceId, id, address }, { cipher, until })) ? code : null;
  }
}

/** Counts the attempts of this process. */
export function notificationSends(metrics: Metrics) {
  return metrics.counter(
    'nightshift_notifications_sent_total',
    'Attempts to send a notification over a channel, by kind of channel and outcome',
    ['kind', 'outcome'],
  );
}

/** Why the delivery must not be sent; null: it may be sent. */
function refusalOf({ kind, enabled, confirmedAt }: SendingChannel, type: string): string | null {
  if (type === confirmType) return kind === 'email' && confirmedAt === null ? null : 'confirmed';
  if (!enabled) return 'channel_disabled';
  return confirmedAt === null ? 'not_confirmed' : null;
}

function excerptOf(response: string): string {
  return toStorableText(response.slice(0, excerptLength));
}
