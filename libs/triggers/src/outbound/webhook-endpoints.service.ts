import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import type { ExpiredRows } from '#jobs';
import {
  AppError,
  type Clock,
  isId,
  isOwnHeader,
  newId,
  type Page,
  type PageRequest,
  PrismaService,
  type PrismaTransaction,
  Queues,
  type Secret,
  SecretBox,
  systemClock,
  toStorableText,
} from '#platform';
import { lockWorkspace, recordChange } from '#tools';

import { DeliveriesRepository } from './deliveries.repository.js';
import { EndpointHealthRepository } from './endpoint-health.repository.js';
import {
  assertFits,
  firstSecret,
  isStandardSecret,
  newEndpointSecret,
  openSecrets,
  rotatedSecrets,
} from './endpoint-secrets.js';
import { WebhookClient } from './webhook-client.js';
import { type WebhookEndpoint, webhookEvents } from './webhook-endpoint.js';
import {
  type DeliveryFilter,
  type EndpointTerms,
  type WebhookDelivery,
  WebhookEndpointsRepository,
} from './webhook-endpoints.repository.js';

const maxEndpoints = 50;
const retentionMs = 30 * 24 * 3_600_000;
const redeliveredAtOnce = 500;

/** An endpoint and, once, its new secret. */
export interface SavedEndpoint {
  readonly endpoint: WebhookEndpoint;
  /** Null: it did not change, or the caller gave it. */
  readonly secret: Secret | null;
}

/** An endpoint to save, as a caller gives it. `secret`: of a new endpoint; absent: the server makes one. */
export type GivenEndpoint = Omit<EndpointTerms, 'headers'> & {
  readonly headers?: unknown;
  readonly secret?: Secret | null;
};

/** A range of dead letters of one endpoint or trigger. */
export type DeadLetterRange = Pick<DeliveryFilter, 'endpointId' | 'triggerId' | 'database' | 'from' | 'to'>;

/** The endpoints of a workspace and their deliveries, for those who may manage `WebhookEndpoint`. Changes are audited. */
@Injectable()
export class WebhookEndpoints implements ExpiredRows {
  /** Tests replace it. */
  clock: Clock = systemClock;

  constructor(
    private readonly prisma: PrismaService,
    private readonly repository: WebhookEndpointsRepository,
    private readonly deliveryRows: DeliveriesRepository,
    private readonly health: EndpointHealthRepository,
    private readonly client: WebhookClient,
    private readonly secretBox: SecretBox,
    private readonly queues: Queues,
  ) {}

  /** Oldest first, at most 50. */
  list(principal: MemberPrincipal): Promise<readonly WebhookEndpoint[]> {
    assertMay(principal);
    return this.prisma.withWorkspace(principal, (tx) => this.repository.list(tx, scopeOf(principal)));
  }

  /** Throws `not_found`. */
  get(principal: MemberPrincipal, id: string): Promise<WebhookEndpoint> {
    assertMay(principal);
    return this.prisma.withWorkspace(principal, (tx) => this.find(tx, principal, id));
  }

  /**
   * Creates an endpoint with a given or new secret, or replaces the one with this id, whose secret stays. An endpoint that is enabled again gets the
   * events from now on. Throws `forbidden`, `not_found`, `bad_request`, `conflict` (50 already).
   */
  async save(
    principal: MemberPrincipal,
    id: string | null,
    { secret: own = null, ...given }: GivenEndpoint,
  ): Promise<SavedEndpoint> {
    assertMay(principal);
    const terms = toTerms(given);
    if (own !== null) {
      if (id !== null) throw secretStays();
      assertFits(own, terms.signature);
    }
    await this.client.check(terms.url);
    if (id !== null && terms.enabled) await this.abandonPast(principal, id);
    return this.commit(principal, id === null ? 'webhook-created' : 'webhook-saved', async (tx) => {
      const scope = scopeOf(principal);
      if (id !== null) {
        const { signature } = await this.find(tx, principal, id);
        if (signature === 'syntrix' && terms.signature !== 'syntrix') await this.assertStandard(tx, principal, id);
        return { endpoint: await this.change(tx, principal, { ...terms, id }), secret: null };
      }
      if ((await this.repository.list(tx, scope)).length >= maxEndpoints) throw tooManyEndpoints();
      const secret = own ?? newEndpointSecret();
      const ref = { workspaceId: principal.workspaceId, id: newId() };
      const secretCipher = firstSecret(this.secretBox, ref, secret);
      const endpoint = await this.repository.create(tx, scope, { ...terms, id: ref.id, secretCipher });
      return { endpoint, secret: own === null ? secret : null };
    });
  }

  /** Hides an endpoint and its deliveries at once; the retention deletes them. Throws `forbidden`, `not_found`. */
  async remove(principal: MemberPrincipal, id: string): Promise<WebhookEndpoint> {
    assertMay(principal);
    const { endpoint } = await this.commit(principal, 'webhook-removed', async (tx) => {
      const endpoint = await this.find(tx, principal, id);
      await this.repository.remove(tx, scopeOf(principal), id);
      return { endpoint, secret: null };
    });
    return endpoint;
  }

  /** Enables or disables it; nothing is sent of the time in which it was disabled. Throws `forbidden`, `not_found`. */
  async setEnabled(principal: MemberPrincipal, id: string, enabled: boolean): Promise<WebhookEndpoint> {
    assertMay(principal);
    const action = enabled ? 'webhook-enabled' : 'webhook-disabled';
    if (enabled) await this.abandonPast(principal, id);
    const { endpoint } = await this.commit(principal, action, async (tx) => {
      const { url, description, events, signature, headers, onlyUnwatched, includeContent } = await this.find(
        tx,
        principal,
        id,
      );
      const terms = { url, description, events, signature, headers, onlyUnwatched, includeContent, enabled };
      return { endpoint: await this.change(tx, principal, { ...terms, id }), secret: null };
    });
    return endpoint;
  }

  /** Replaces the secret by a given or new one. The one before signs for 24 hours. Throws `forbidden`, `not_found`, `bad_request`. */
  rotate(principal: MemberPrincipal, id: string, own: Secret | null = null): Promise<SavedEndpoint> {
    assertMay(principal);
    return this.commit(principal, 'webhook-secret-rotated', async (tx) => {
      const { signature } = await this.find(tx, principal, id);
      if (own !== null) assertFits(own, signature);
      const secret = own ?? newEndpointSecret();
      const scope = scopeOf(principal);
      const ref = { workspaceId: principal.workspaceId, id };
      const stored = await this.repository.secretsOf(tx, scope, id);
      const rotated = rotatedSecrets(this.secretBox, ref, { stored, secret, now: this.clock.now() });
      await this.repository.setSecrets(tx, scope, { ...rotated, id });
      return { endpoint: await this.find(tx, principal, id), secret: own === null ? secret : null };
    });
  }

  /** Sends `endpoint.test`; the delivery shows the result. A disabled endpoint makes it a dead letter. Throws `forbidden`, `not_found`. */
  async test(principal: MemberPrincipal, id: string): Promise<WebhookDelivery> {
    assertMay(principal);
    const { workspaceId } = principal;
    return this.prisma.withWorkspace(principal, async (tx) => {
      await this.find(tx, principal, id);
      const data = { workspaceId, endpointId: id };
      const event = { workspaceId, type: 'endpoint.test', data, now: this.clock.now(), endpointId: id };
      const messages = await this.health.insertFor(tx, event);
      await this.queues.send(tx, 'webhook.deliver', messages);
      const filter = { endpointId: id };
      const [delivery] = await this.repository.deliveries(tx, scopeOf(principal), { filter, take: 1 });
      if (delivery === undefined) throw endpointNotFound();
      return delivery;
    });
  }

  /** Newest first. */
  async deliveries(
    principal: MemberPrincipal,
    filter: DeliveryFilter,
    { first, after }: PageRequest,
  ): Promise<Page<WebhookDelivery>> {
    assertMay(principal);
    if ([filter.endpointId, filter.jobId].some((id) => id != null && !isId(id))) return { items: [], hasMore: false };
    const rows = await this.prisma.withWorkspace(principal, (tx) =>
      this.repository.deliveries(tx, scopeOf(principal), { filter, take: first + 1, after }),
    );
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** Sends one delivery again that is not pending. Throws `forbidden`, `not_found`, `conflict` (its endpoint is disabled). */
  async redeliver(principal: MemberPrincipal, id: string): Promise<void> {
    assertMay(principal);
    const count = isId(id)
      ? await this.sendAgain(principal, async (tx) => {
          const isDisabled = await this.repository.isOfDisabled(tx, scopeOf(principal), id);
          if (isDisabled) throw endpointDisabled('id');
          return [id];
        })
      : 0;
    if (count === 0) throw deliveryNotFound();
  }

  /**
   * Sends dead letters again, the oldest 500 of them, without those of disabled endpoints. Returns how many; 0: none is left. Throws
   * `forbidden`, `conflict` (the endpoint is disabled).
   */
  async redeliverDead(principal: MemberPrincipal, range: DeadLetterRange): Promise<number> {
    assertMay(principal);
    if (range.endpointId != null && !isId(range.endpointId)) return 0;
    const { endpointId } = range;
    return this.sendAgain(principal, async (tx) => {
      const endpoint = endpointId == null ? null : await this.repository.find(tx, scopeOf(principal), endpointId);
      if (endpoint?.enabled === false) throw endpointDisabled('endpointId');
      return this.repository.dead(tx, scopeOf(principal), { ...range, take: redeliveredAtOnce });
    });
  }

  /** Called by the retention. */
  deleteExpired(workspaceId: string): Promise<number> {
    const before = new Date(this.clock.now() - retentionMs);
    return this.prisma.withWorkspace({ workspaceId }, (tx) => this.repository.forget(tx, workspaceId, before));
  }

  /** A secret that a person gave for another style may be unknown to Standard Webhooks. Throws `bad_request`. */
  private async assertStandard(tx: PrismaTransaction, principal: MemberPrincipal, id: string): Promise<void> {
    const { workspaceId } = principal;
    const stored = await this.repository.secretsOf(tx, scopeOf(principal), id);
    const [secret] = openSecrets(this.secretBox, { workspaceId, id }, { stored, now: this.clock.now() });
    if (secret !== undefined && !isStandardSecret(secret)) throw secretNotStandard();
  }

  /** The deliveries of one that it disables become dead letters in the same transaction, as far as one batch reaches. */
  private async change(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    terms: EndpointTerms & { readonly id: string },
  ): Promise<WebhookEndpoint> {
    const { workspaceId } = principal;
    const endpoint = await this.repository.change(tx, scopeOf(principal), terms);
    if (!terms.enabled) await this.health.abandonPending(tx, { workspaceId, id: terms.id, now: this.clock.now() });
    return endpoint;
  }

  /** Before an endpoint is enabled again: what is still pending of the time before becomes dead letters, in batches. */
  private async abandonPast(principal: MemberPrincipal, id: string): Promise<void> {
    const { workspaceId } = principal;
    let hasMore = true;
    while (hasMore)
      hasMore = await this.prisma.withWorkspace(principal, async (tx) => {
        const { enabled } = await this.find(tx, principal, id);
        return !enabled && (await this.health.abandonPending(tx, { workspaceId, id, now: this.clock.now() }));
      });
  }

  private sendAgain(
    principal: MemberPrincipal,
    find: (tx: PrismaTransaction) => Promise<readonly string[]>,
  ): Promise<number> {
    const { workspaceId } = principal;
    return this.prisma.withWorkspace(principal, async (tx) => {
      const ids = await find(tx);
      const { count, messages } = await this.deliveryRows.redeliver(tx, { workspaceId, ids, now: this.clock.now() });
      await this.queues.send(tx, 'webhook.deliver', messages);
      return count;
    });
  }

  private async find(tx: PrismaTransaction, principal: MemberPrincipal, id: string): Promise<WebhookEndpoint> {
    const endpoint = await this.repository.find(tx, scopeOf(principal), id);
    if (endpoint === null) throw endpointNotFound();
    return endpoint;
  }

  private commit(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<SavedEndpoint>,
  ): Promise<SavedEndpoint> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const saved = await run(tx);
      const { id: subjectId, url, events, enabled } = saved.endpoint;
      const details = { url, events: [...events], enabled };
      await recordChange(tx, principal, { action, subjectType: 'WebhookEndpoint', subjectId, details });
      return saved;
    });
  }
}

function assertMay(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'WebhookEndpoint', row: { workspaceId } });
}

const [longestUrl, longestDescription, maxHeaders, longestHeader] = [2_048, 500, 20, 1_024];

function toTerms({ description, headers: wanted, ...given }: GivenEndpoint): EndpointTerms {
  const problem = (field: string, message: string) => new AppError({ code: 'bad_request', message, field });
  const text = toStorableText(description).trim();
  if (given.url.length > longestUrl) throw problem('url', `The URL has more than ${longestUrl} characters.`);
  if (text.length > longestDescription) throw problem('description', 'The description has more than 500 characters.');
  const events = webhookEvents.filter((event) => given.events.includes(event));
  if (events.length === 0) throw problem('events', 'Name at least one event.');
  const named = wanted ?? {};
  const headers: [string, unknown][] | null =
    typeof named === 'object' && !Array.isArray(named) ? Object.entries(named) : null;
  const isSendable = ([name, value]: readonly [string, unknown]) =>
    /^[!#$%&'*+.^_`|~\dA-Za-z-]{1,100}$/.test(name) &&
    !isOwnHeader(name) &&
    typeof value === 'string' &&
    value.length <= longestHeader &&
    /^[\t\x20-\x7e]*$/.test(value);
  if (headers === null || headers.length > maxHeaders || !headers.every(isSendable))
    throw problem(
      'headers',
      `headers must be at most ${maxHeaders} HTTP headers with texts of up to ${longestHeader} characters, none that the server sets itself.`,
    );
  return { ...given, description: text, events, headers: Object.fromEntries(headers) as Record<string, string> };
}

/** Absent and forbidden look the same. */
function endpointNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Webhook endpoint not found' });
}

function secretStays(): AppError {
  const message = 'Saving does not change the secret of an endpoint. Rotate it.';
  return new AppError({ code: 'bad_request', message, field: 'secret' });
}

function secretNotStandard(): AppError {
  const message =
    'The secret of the endpoint does not fit Standard Webhooks. Rotate it without naming a new one first.';
  return new AppError({ code: 'bad_request', message, field: 'signature' });
}

function deliveryNotFound(): AppError {
  return new AppError({
    code: 'not_found',
    message: 'The webhook delivery is not found or is still pending. Only a finished delivery can be sent again.',
  });
}

function endpointDisabled(field: string): AppError {
  const message =
    'The webhook endpoint is disabled, so nothing is sent to it. Enable it, then send its deliveries again.';
  return new AppError({ code: 'conflict', message, field });
}

function tooManyEndpoints(): AppError {
  const message = `A workspace can have ${maxEndpoints} webhook endpoints. Remove one first.`;
  return new AppError({ code: 'conflict', message });
}
