import { Injectable } from '@nestjs/common';

import {
  assertReadable,
  isId,
  Prisma,
  type PrismaTransaction,
  type Scope,
  type WebhookDeliveryRow,
  type WebhookEndpointRow,
} from '#platform';

import type { SignatureStyle } from '../signature.js';
import type { Attempt, DeliveryStatus } from './delivery.js';
import type { SealedSecrets } from './endpoint-secrets.js';
import type { WebhookEndpoint, WebhookEvent } from './webhook-endpoint.js';

/** A delivery, for people. Instants in ms since the epoch. */
export interface WebhookDelivery {
  readonly id: string;
  readonly endpointId: string | null;
  readonly triggerId: string | null;
  readonly type: string;
  readonly jobId: string | null;
  readonly status: DeliveryStatus;
  /** In the current schedule. */
  readonly attempts: number;
  /** Of a dead letter. */
  readonly reason: string | null;
  readonly body: string;
  /** The last 20, oldest first. */
  readonly log: readonly Attempt[];
  /** Null: it is not pending. */
  readonly nextAt: number | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

/** Which deliveries. Instants of their creation. */
export interface DeliveryFilter {
  readonly endpointId?: string | null | undefined;
  readonly triggerId?: string | null | undefined;
  /** Of the trigger. */
  readonly database?: string | null | undefined;
  readonly jobId?: string | null | undefined;
  readonly status?: DeliveryStatus | null | undefined;
  readonly from?: number | null | undefined;
  readonly to?: number | null | undefined;
}

/** Columns that a save writes. */
export type EndpointTerms = Pick<
  WebhookEndpoint,
  'url' | 'description' | 'events' | 'enabled' | 'signature' | 'headers' | 'onlyUnwatched' | 'includeContent'
>;

/** The endpoints of a workspace and their deliveries, for those who manage them. */
@Injectable()
export class WebhookEndpointsRepository {
  /** Oldest first. */
  async list(tx: PrismaTransaction, scope: Scope): Promise<WebhookEndpoint[]> {
    return (await tx.webhookEndpoint.findMany({ where: readable(scope), orderBy: { id: 'asc' } })).map(toEndpoint);
  }

  /** Null: absent, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<WebhookEndpoint | null> {
    if (!isId(id)) return null;
    const row = await tx.webhookEndpoint.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toEndpoint(row);
  }

  async create(
    tx: PrismaTransaction,
    { workspaceId, principal }: Scope,
    { id, secretCipher, ...terms }: EndpointTerms & { readonly id: string; readonly secretCipher: Uint8Array },
  ): Promise<WebhookEndpoint> {
    const secret = { secretCipher: Uint8Array.from(secretCipher), createdBy: principal };
    return toEndpoint(await tx.webhookEndpoint.create({ data: { ...toData(terms), ...secret, id, workspaceId } }));
  }

  /** An endpoint that is enabled again begins without failures. */
  async change(
    tx: PrismaTransaction,
    { workspaceId }: Scope,
    { id, ...terms }: EndpointTerms & { readonly id: string },
  ): Promise<WebhookEndpoint> {
    const healthy = terms.enabled ? { disabledBecause: null, failingSince: null, deadSinceSuccess: 0 } : {};
    const data = { ...toData(terms), ...healthy, updatedAt: new Date() };
    return toEndpoint(await tx.webhookEndpoint.update({ where: { workspaceId_id: { workspaceId, id } }, data }));
  }

  /** Of an endpoint that exists. */
  async secretsOf(tx: PrismaTransaction, { workspaceId }: Scope, id: string): Promise<SealedSecrets> {
    const row = await tx.webhookEndpoint.findUniqueOrThrow({ where: { workspaceId_id: { workspaceId, id } } });
    const { secretCipher, previousCipher, previousUntil, earlierCipher } = row;
    return { secretCipher, previousCipher, previousUntil: previousUntil?.getTime() ?? null, earlierCipher };
  }

  async setSecrets(
    tx: PrismaTransaction,
    { workspaceId }: Scope,
    { id, secretCipher, previousCipher, previousUntil, earlierCipher }: SealedSecrets & { readonly id: string },
  ): Promise<void> {
    const stored = (cipher: Uint8Array | null) => (cipher === null ? null : Uint8Array.from(cipher));
    const data = {
      secretCipher: Uint8Array.from(secretCipher),
      previousCipher: stored(previousCipher),
      previousUntil: previousUntil === null ? null : new Date(previousUntil),
      earlierCipher: stored(earlierCipher),
      updatedAt: new Date(),
    };
    await tx.webhookEndpoint.update({ where: { workspaceId_id: { workspaceId, id } }, data });
  }

  /** Marks an endpoint as deleted. `forget` deletes its row and deliveries later: a cascade over many of them would hold its lock. */
  async remove(tx: PrismaTransaction, { workspaceId }: Scope, id: string): Promise<void> {
    const data = { enabled: false, deletedAt: new Date() };
    await tx.webhookEndpoint.update({ where: { workspaceId_id: { workspaceId, id } }, data });
  }

  /** Newest first, without those of notification channels. The caller may manage the endpoints of the scope's workspace. Throws `too_large`. */
  async deliveries(
    tx: PrismaTransaction,
    { workspaceId }: Scope,
    {
      filter,
      take,
      after,
    }: { readonly filter: DeliveryFilter; readonly take: number; readonly after?: string | undefined },
  ): Promise<WebhookDelivery[]> {
    const picked = await tx.$queryRaw<{ id: string; bytes: number }[]>`
      SELECT id, octet_length(body) AS bytes FROM webhook_delivery d WHERE ${matching(workspaceId, filter)}
         AND (${after ?? null}::uuid IS NULL OR d.ordinal < (SELECT ordinal FROM webhook_delivery a
           WHERE a.workspace_id = ${workspaceId}::uuid AND a.id = ${after ?? null}::uuid))
       ORDER BY d.ordinal DESC LIMIT ${take}`;
    assertReadable(picked.reduce((sum, { bytes }) => sum + bytes, 0));
    const where = { workspaceId, id: { in: picked.map(({ id }) => id) } };
    return (await tx.webhookDelivery.findMany({ where, orderBy: { ordinal: 'desc' } })).map(toDelivery);
  }

  /** Whether the endpoint of a delivery is disabled; not for a delivery without endpoint, or one that does not exist. */
  async isOfDisabled(tx: PrismaTransaction, { workspaceId }: Scope, deliveryId: string): Promise<boolean> {
    const where = { workspaceId, id: deliveryId, endpoint: { enabled: false, deletedAt: null } };
    return (await tx.webhookDelivery.count({ where })) > 0;
  }

  /** Dead letters that match, oldest first, without those of disabled endpoints. */
  async dead(
    tx: PrismaTransaction,
    { workspaceId }: Scope,
    { take, ...filter }: DeliveryFilter & { readonly take: number },
  ): Promise<string[]> {
    const rows = await tx.$queryRaw<{ id: string }[]>`SELECT id FROM webhook_delivery d
       WHERE ${matching(workspaceId, { ...filter, status: 'dead' })} AND (d.endpoint_id IS NULL OR d.endpoint_id IN (
         SELECT e.id FROM webhook_endpoint e WHERE e.workspace_id = ${workspaceId}::uuid AND e.enabled)) ORDER BY d.ordinal LIMIT ${take}`;
    return rows.map(({ id }) => id);
  }

  /**
   * Deletes deliveries that ended before `before` or whose endpoint was removed, one batch of each per call, and removed endpoints without
   * deliveries. Returns how many deliveries.
   */
  async forget(tx: PrismaTransaction, workspaceId: string, before: Date): Promise<number> {
    const expired =
      await tx.$executeRaw`DELETE FROM webhook_delivery WHERE workspace_id = ${workspaceId}::uuid AND id IN (
      SELECT id FROM webhook_delivery WHERE workspace_id = ${workspaceId}::uuid AND finished_at < ${before} LIMIT 1000)`;
    const removed =
      await tx.$executeRaw`DELETE FROM webhook_delivery WHERE workspace_id = ${workspaceId}::uuid AND id IN (
      SELECT id FROM webhook_delivery WHERE workspace_id = ${workspaceId}::uuid AND endpoint_id IN (${removedEndpoints(workspaceId)}) LIMIT 1000)`;
    if (removed < 1_000)
      await tx.$executeRaw`DELETE FROM webhook_endpoint e WHERE e.workspace_id = ${workspaceId}::uuid AND e.deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.workspace_id = e.workspace_id AND d.endpoint_id = e.id)`;
    return expired + removed;
  }
}

function readable(scope: Scope): Prisma.WebhookEndpointWhereInput {
  return { AND: [scope.where('WebhookEndpoint'), { workspaceId: scope.workspaceId, deletedAt: null }] };
}

const removedEndpoints = (workspaceId: string) =>
  Prisma.sql`SELECT id FROM webhook_endpoint WHERE workspace_id = ${workspaceId}::uuid AND deleted_at IS NOT NULL`;

const matching = (
  workspaceId: string,
  { endpointId, triggerId, database, jobId, status, from, to }: DeliveryFilter,
) => Prisma.sql`
  d.workspace_id = ${workspaceId}::uuid AND d.channel_id IS NULL AND ${Prisma.join(
    [
      Prisma.sql`(d.endpoint_id IS NULL OR d.endpoint_id NOT IN (${removedEndpoints(workspaceId)}))`,
      ...(endpointId == null ? [] : [Prisma.sql`d.endpoint_id = ${endpointId}::uuid`]),
      ...(triggerId == null ? [] : [Prisma.sql`d.trigger_id = ${triggerId}`]),
      ...(database == null ? [] : [Prisma.sql`d.target->'trigger'->>'database' = ${database}`]),
      ...(jobId == null ? [] : [Prisma.sql`d.job_id = ${jobId}::uuid`]),
      ...(status == null ? [] : [Prisma.sql`d.status = ${status}`]),
      ...(from == null ? [] : [Prisma.sql`d.created_at >= ${new Date(from)}`]),
      ...(to == null ? [] : [Prisma.sql`d.created_at < ${new Date(to)}`]),
    ],
    ' AND ',
  )}`;

function toData({ events, headers, ...terms }: EndpointTerms) {
  return { ...terms, events: [...events], headers: { ...headers } };
}

/** Written from `EndpointTerms` only, and checked by the table, so the casts hold. */
function toEndpoint(row: WebhookEndpointRow): WebhookEndpoint {
  const { id, url, description, enabled, onlyUnwatched, includeContent, previousUntil, failingSince } = row;
  return {
    ...{ id, url, description, enabled, onlyUnwatched, includeContent },
    events: row.events as WebhookEvent[],
    disabledBecause: row.disabledBecause as WebhookEndpoint['disabledBecause'],
    signature: row.signature as SignatureStyle,
    headers: row.headers as Record<string, string>,
    previousSecretUntil: previousUntil?.getTime() ?? null,
    failingSince: failingSince?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  };
}

/** The status is checked by the table, and the log is written from `Attempt` only. */
function toDelivery(row: WebhookDeliveryRow): WebhookDelivery {
  const { id, endpointId, triggerId, type, jobId, attempts, reason, body } = row;
  const status = row.status as DeliveryStatus;
  return {
    ...{ id, endpointId, triggerId, type, jobId, attempts, reason, body, status },
    log: row.log as unknown as Attempt[],
    nextAt: status === 'pending' ? row.nextAt.getTime() : null,
    createdAt: row.createdAt.getTime(),
    finishedAt: row.finishedAt?.getTime() ?? null,
  };
}
