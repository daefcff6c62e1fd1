import { createHash, timingSafeEqual } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import {
  AppError,
  type Clock,
  newId,
  PrismaService,
  type PrismaTransaction,
  Queues,
  RateCountersRepository,
  type RateLimit,
  type Secret,
  SecretBox,
  SharedRate,
  systemClock,
} from '#platform';
import { lockWorkspace, recordChange } from '#tools';

import { newEndpointSecret } from '../endpoint-secrets.js';
import { WebhookClient } from '../webhook-client.js';
import { ChannelDeliveriesRepository } from './channel-deliveries.repository.js';
import { Mailer } from './mailer.js';
import {
  channelEvents,
  type ChannelKind,
  channelPlace,
  confirmType,
  type NotificationChannel,
  testType,
} from './notification-channel.js';
import { type ChannelTerms, NotificationChannelsRepository } from './notification-channels.repository.js';

/** Maximum number of channels of a user, and of a workspace. */
const maxChannels = 10;
const codesPerHour: RateLimit = {
  ...{ name: 'codes_per_hour', value: 5, raisedBy: 'fixed' },
  counts: 'confirmation codes of a user in an hour, in all workspaces',
};
const codesPerAddress: RateLimit = {
  ...{ name: 'codes_per_address', value: 5, raisedBy: 'fixed' },
  counts: 'confirmation codes to an address in an hour, of all users',
};
const hourSeconds = 3_600;
const codeTries = 5;
const longestUrl = 2_048;

/** A channel to save, as a caller gives it. */
export interface GivenChannel {
  readonly kind: ChannelKind;
  readonly address: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly includeTitle: boolean;
  /** Of the workspace, not of the caller. */
  readonly isWorkspaceWide: boolean;
}

/** A channel and, once, the new secret that signs its webhooks. */
export interface SavedChannel {
  readonly channel: NotificationChannel;
  readonly secret: Secret | null;
}

/**
 * The channels of the caller and, for those who may manage them, of the workspace. An e-mail address is used only after it is confirmed:
 * by a code that is sent to it, or because the issuer of the caller's token has verified it. Changes are audited.
 */
@Injectable()
export class NotificationChannels {
  /** Tests replace it. */
  clock: Clock = systemClock;
  private readonly codes: SharedRate;
  private readonly addressCodes: SharedRate;

  constructor(
    private readonly prisma: PrismaService,
    private readonly repository: NotificationChannelsRepository,
    private readonly deliveries: ChannelDeliveriesRepository,
    private readonly client: WebhookClient,
    private readonly mailer: Mailer,
    private readonly secretBox: SecretBox,
    private readonly queues: Queues,
    counters: RateCountersRepository,
  ) {
    const counter = counters.counter('channel-codes-user', codesPerHour.value, hourSeconds);
    this.codes = new SharedRate(counter, codesPerHour, systemClock);
    const addressCounter = counters.counter('channel-codes-address', codesPerAddress.value, hourSeconds);
    this.addressCodes = new SharedRate(addressCounter, codesPerAddress, systemClock);
  }

  /** Oldest first: at most 10 of the caller and 10 of the workspace. */
  list(principal: MemberPrincipal): Promise<readonly NotificationChannel[]> {
    return this.prisma.withWorkspace(principal, (tx) => this.repository.list(tx, scopeOf(principal)));
  }

  /**
   * Creates a channel, or replaces the one with this id. The server sends a code to an address that is not confirmed. Throws `forbidden`, `not_found`,
   * `bad_request`, `conflict` (10 already), `rate_limited`.
   */
  async save(principal: MemberPrincipal, id: string | null, given: GivenChannel): Promise<SavedChannel> {
    const address = given.kind === 'email' ? toAddress(given.address) : await this.toUrl(given.address);
    if (given.kind === 'email' && !this.mailer.isConfigured) throw mailNotConfigured();
    const events = channelEvents.filter((event) => given.events.includes(event));
    if (events.length === 0) throw problem('events', 'Name at least one event.');
    const { workspaceId } = principal;
    const { enabled, includeTitle } = given;
    if (await this.needsCode(principal, id, { kind: given.kind, address })) await this.takeCode(principal, address);
    return this.commit(principal, id === null ? 'channel-created' : 'channel-saved', async (tx) => {
      const before = id === null ? null : await this.find(tx, principal, id);
      const userId = given.isWorkspaceWide ? null : principal.userId;
      if (before !== null && (before.userId !== userId || before.kind !== given.kind))
        throw problem('kind', 'The kind and the owner of a channel cannot change. Create another channel.');
      assertMay(principal, userId);
      const confirmedAt = this.confirmation(principal, before, { kind: given.kind, address });
      // earlier notifications, for example from the time when the channel was disabled, are not sent
      const terms = { address, events, enabled, includeTitle, confirmedAt, activeSince: this.now() };
      const saved =
        before === null
          ? await this.create(tx, principal, { ...terms, userId, kind: given.kind })
          : { channel: await this.repository.change(tx, { workspaceId, id: before.id }, terms), secret: null };
      if (confirmedAt === null) await this.enqueue(tx, principal, { id: saved.channel.id, type: confirmType });
      return saved;
    });
  }

  /** Throws `forbidden`, `not_found`, `bad_request` (wrong code, too old, or tried 5 times). */
  async confirm(principal: MemberPrincipal, id: string, code: string): Promise<NotificationChannel> {
    const { workspaceId } = principal;
    const confirmed = await this.prisma.withWorkspace(principal, async (tx) => {
      const channel = await this.find(tx, principal, id);
      if (channel.confirmedAt !== null) return channel;
      const cipher = await this.repository.tryCode(tx, { workspaceId, id }, { now: this.now(), max: codeTries });
      if (cipher === null) return null;
      const expected = this.secretBox.open(cipher, channelPlace(workspaceId, id, 'code')).reveal();
      return isSame(expected, code.trim()) ? this.repository.confirm(tx, { workspaceId, id }, this.now()) : null;
    });
    if (confirmed === null)
      throw problem('code', 'The code is wrong or too old. Request another one, and enter the latest.');
    return confirmed;
  }

  /** Sends another code. Throws `forbidden`, `not_found`, `conflict` (confirmed already), `rate_limited`. */
  async requestCode(principal: MemberPrincipal, id: string): Promise<NotificationChannel> {
    const unconfirmed = async (tx: PrismaTransaction) => {
      const channel = await this.find(tx, principal, id);
      if (channel.confirmedAt !== null) throw confirmedAlready();
      return channel;
    };
    const { address } = await this.prisma.withWorkspace(principal, unconfirmed);
    await this.takeCode(principal, address);
    return this.prisma.withWorkspace(principal, async (tx) => {
      const channel = await unconfirmed(tx);
      await this.enqueue(tx, principal, { id, type: confirmType });
      return channel;
    });
  }

  /** Sends a test; `lastSentAt` or `lastError` shows the result. Throws `forbidden`, `not_found`, `conflict`, `rate_limited`. */
  async test(principal: MemberPrincipal, id: string): Promise<NotificationChannel> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const channel = await this.find(tx, principal, id);
      if (channel.confirmedAt === null || !channel.enabled) throw notInUse();
      const tested = { workspaceId: principal.workspaceId, channelIds: [id], now: this.clock.now() };
      if ((await this.deliveries.sentInLastHour(tx, tested)) >= testsPerHour) throw tooManyTests();
      await this.enqueue(tx, principal, { id, type: testType });
      return channel;
    });
  }

  /** Throws `forbidden`, `not_found`. */
  async remove(principal: MemberPrincipal, id: string): Promise<NotificationChannel> {
    const { channel } = await this.commit(principal, 'channel-removed', async (tx) => {
      const channel = await this.find(tx, principal, id);
      await this.repository.remove(tx, { workspaceId: principal.workspaceId, id });
      return { channel, secret: null };
    });
    return channel;
  }

  /** By address too, or several accounts could flood one. */
  private async takeCode({ userId }: MemberPrincipal, address: string): Promise<void> {
    await this.codes.take(userId);
    await this.addressCodes.take(createHash('sha256').update(address).digest('hex'));
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  private async toUrl(url: string): Promise<string> {
    if (url.length > longestUrl) throw problem('address', `The URL has more than ${longestUrl} characters.`);
    await this.client.check(url);
    return url;
  }

  /** Read before the transaction of the change: a limit is counted on a connection of its own. */
  private async needsCode(
    principal: MemberPrincipal,
    id: string | null,
    given: Pick<NotificationChannel, 'kind' | 'address'>,
  ): Promise<boolean> {
    const before =
      id === null ? null : await this.prisma.withWorkspace(principal, (tx) => this.find(tx, principal, id));
    return this.confirmation(principal, before, given) === null;
  }

  /** When the address was confirmed; null: it must be confirmed, also after its recipient has unsubscribed. */
  private confirmation(
    principal: MemberPrincipal,
    before: NotificationChannel | null,
    { kind, address }: Pick<NotificationChannel, 'kind' | 'address'>,
  ): Date | null {
    if (before?.address === address && before.confirmedAt !== null && before.disabledBecause !== 'unsubscribed')
      return new Date(before.confirmedAt);
    const isVerified = kind === 'webhook' || (principal.kind === 'user' && principal.verifiedEmail === address);
    return isVerified ? this.now() : null;
  }

  private async create(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { userId, kind, ...terms }: ChannelTerms & Pick<NotificationChannel, 'userId' | 'kind'>,
  ): Promise<SavedChannel> {
    const { workspaceId } = principal;
    if ((await this.repository.count(tx, workspaceId, userId)) >= maxChannels) throw tooManyChannels();
    await this.repository.lockCursor(tx, workspaceId); // the first channel begins with what is written from now on
    const id = newId();
    const secret = kind === 'webhook' ? newEndpointSecret() : null;
    const secretCipher = secret && this.secretBox.seal(secret, channelPlace(workspaceId, id, 'secret'));
    const channel = await this.repository.create(tx, scopeOf(principal), { ...terms, id, userId, kind, secretCipher });
    return { channel, secret };
  }

  private async enqueue(
    tx: PrismaTransaction,
    { workspaceId, userId }: MemberPrincipal,
    { id: channelId, type }: Pick<NotificationChannel, 'id'> & { readonly type: string },
  ): Promise<void> {
    const now = this.clock.now();
    const body = { type, timestamp: new Date(now).toISOString(), data: { workspaceId, channelId, userId } };
    const delivery = { id: newId(), channelId, notificationId: null, type, jobId: null, isDropped: false };
    const added = [{ ...delivery, body: JSON.stringify(body) }];
    await this.queues.send(tx, 'webhook.deliver', await this.deliveries.insert(tx, added, { workspaceId, now }));
  }

  private async find(tx: PrismaTransaction, principal: MemberPrincipal, id: string): Promise<NotificationChannel> {
    const channel = await this.repository.find(tx, scopeOf(principal), id);
    if (channel === null) throw channelNotFound();
    assertMay(principal, channel.userId);
    return channel;
  }

  private commit(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<SavedChannel>,
  ): Promise<SavedChannel> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const saved = await run(tx);
      const { id: subjectId, kind, userId, events, enabled } = saved.channel;
      const details = { kind, userId, events: [...events], enabled };
      await recordChange(tx, principal, { action, subjectType: 'NotificationChannel', subjectId, details });
      return saved;
    });
  }
}

const testsPerHour = 20;

function assertMay(principal: MemberPrincipal, userId: string | null): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'change', subject: 'NotificationChannel', row: { workspaceId, userId } });
}

/** One mailbox (RFC 5321, 4.1.2) in its common form: no quotes, no comments, no list, no line breaks. */
const addressPattern = /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

function toAddress(text: string): string {
  const address = text.trim().toLowerCase();
  if (address.length > 254 || !addressPattern.test(address))
    throw problem('address', 'The address must be one e-mail address such as ada@example.com.');
  return address;
}

function isSame(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function problem(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}

/** The same error for a channel that is absent or forbidden. */
export function channelNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Notification channel not found' });
}

function mailNotConfigured(): AppError {
  return problem('kind', 'This server sends no e-mails. The operator can set SMTP_URL and MAIL_FROM.');
}

function confirmedAlready(): AppError {
  return new AppError({ code: 'conflict', message: 'The address of this channel is already confirmed.' });
}

function notInUse(): AppError {
  return new AppError({
    code: 'conflict',
    message: 'The channel is disabled or not confirmed. Enable or confirm it first.',
  });
}

function tooManyChannels(): AppError {
  return new AppError({ code: 'conflict', message: `The limit is ${maxChannels} channels. Remove a channel first.` });
}

function tooManyTests(): AppError {
  const message = `At most ${testsPerHour} messages of a channel can be tested in an hour. Try again later.`;
  return new AppError({ code: 'rate_limited', message, retryable: true, retryAfterSeconds: 3_600 });
}
