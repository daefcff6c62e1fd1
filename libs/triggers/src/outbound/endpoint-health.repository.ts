import { Injectable } from '@nestjs/common';

import { newId, type PrismaTransaction, type QueueMessage } from '#platform';

interface EndpointRef {
  readonly workspaceId: string;
  readonly id: string;
}

/** The failures of an endpoint. */
export interface EndpointHealth {
  /** Ms since the epoch. */
  readonly failingSince: number;
  readonly deadSinceSuccess: number;
}

/** An endpoint that the server has disabled. */
export interface DisabledEndpoint {
  readonly url: string;
  readonly description: string;
  /** The queue messages of the webhooks about it. */
  readonly messages: readonly QueueMessage<'webhook.deliver'>[];
}

const maxManagers = 1_000;
const abandonedAtOnce = 2_000;

/** Counts the failures of endpoints and disables them. */
@Injectable()
export class EndpointHealthRepository {
  /** Writes only after a failure, so that an endpoint that works costs no update. */
  async succeeded(tx: PrismaTransaction, workspaceId: string, id: string): Promise<void> {
    await tx.$executeRaw`UPDATE webhook_endpoint SET failing_since = NULL, dead_since_success = 0
      WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND failing_since IS NOT NULL`;
  }

  /** Null: it is disabled. */
  async failed(
    tx: PrismaTransaction,
    { workspaceId, id, isDead, now }: EndpointRef & { readonly isDead: boolean; readonly now: number },
  ): Promise<EndpointHealth | null> {
    const [row] = await tx.$queryRaw<EndpointHealth[]>`
      UPDATE webhook_endpoint SET failing_since = coalesce(failing_since, ${new Date(now)}),
             dead_since_success = dead_since_success + ${isDead ? 1 : 0}::int
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND enabled
      RETURNING (extract(epoch FROM failing_since) * 1000)::float8 AS "failingSince", dead_since_success AS "deadSinceSuccess"`;
    return row ?? null;
  }

  /** Disables an endpoint and writes `endpoint.disabled` to the others that want it. Null: it is disabled already. */
  async disable(
    tx: PrismaTransaction,
    { workspaceId, id, reason, now }: EndpointRef & { readonly reason: 'gone' | 'failing'; readonly now: number },
  ): Promise<DisabledEndpoint | null> {
    const [disabled] = await tx.$queryRaw<Omit<DisabledEndpoint, 'messages'>[]>`
      UPDATE webhook_endpoint SET enabled = false, disabled_because = ${reason}, updated_at = ${new Date(now)}
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND enabled RETURNING url, description`;
    if (disabled === undefined) return null;
    const type = 'endpoint.disabled';
    const data = { workspaceId, endpointId: id, url: disabled.url, reason };
    return { ...disabled, messages: await this.insertFor(tx, { workspaceId, type, data, now }) };
  }

  /**
   * Makes pending deliveries of an endpoint that is disabled dead letters, one batch per call, so that enabling it again sends nothing of the
   * past. Returns whether some may be left. One that is being sent now is passed over: its own result counts.
   */
  async abandonPending(
    tx: PrismaTransaction,
    { workspaceId, id, now }: EndpointRef & { readonly now: number },
  ): Promise<boolean> {
    const count = await tx.$executeRaw`
      UPDATE webhook_delivery SET status = 'dead', reason = 'endpoint_disabled', finished_at = ${new Date(now)}
       WHERE workspace_id = ${workspaceId}::uuid AND status = 'pending' AND id IN (
         SELECT id FROM webhook_delivery WHERE workspace_id = ${workspaceId}::uuid AND endpoint_id = ${id}::uuid AND status = 'pending'
          LIMIT ${abandonedAtOnce} FOR UPDATE SKIP LOCKED)`;
    return count === abandonedAtOnce;
  }

  /** The users who may manage endpoints, at most 1,000. */
  async managers(tx: PrismaTransaction, workspaceId: string): Promise<string[]> {
    const where = { workspaceId, role: { in: ['owner', 'admin'] } };
    const found = await tx.membership.findMany({ where, select: { userId: true }, take: maxManagers });
    return found.map(({ userId }) => userId);
  }

  /** Writes an event that is about no job, for one endpoint or for all enabled ones that want it. Returns their queue messages. */
  async insertFor(
    tx: PrismaTransaction,
    event: {
      readonly workspaceId: string;
      readonly type: string;
      readonly data: object;
      readonly now: number;
      readonly endpointId?: string;
    },
  ): Promise<QueueMessage<'webhook.deliver'>[]> {
    const { workspaceId, type, data, now, endpointId = null } = event;
    const endpoints = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM webhook_endpoint WHERE workspace_id = ${workspaceId}::uuid
         AND CASE WHEN ${endpointId}::uuid IS NULL THEN enabled AND ${type} = ANY(events) ELSE id = ${endpointId}::uuid END`;
    const body = JSON.stringify({ type, timestamp: new Date(now).toISOString(), data });
    const rows = endpoints.map(({ id }) => ({ id: newId(), endpointId: id }));
    await tx.webhookDelivery.createMany({
      data: rows.map((row) => ({ ...row, workspaceId, type, body, nextAt: new Date(now), createdAt: new Date(now) })),
    });
    return rows.map(({ id: deliveryId, endpointId: group }) => ({
      id: deliveryId,
      data: { workspaceId, deliveryId, number: 0 },
      group: { id: group },
    }));
  }
}
