import { Injectable } from '@nestjs/common';

import { idFrom, Prisma, PrismaService, type PrismaTransaction, type QueueMessage } from '#platform';

import type { SignatureStyle } from '../signature.js';
import type { Attempt, DeliveryStatus, NewTriggerDelivery, TriggerTarget } from './delivery.js';
import type { SealedSecrets } from './endpoint-secrets.js';

/** A delivery by its key. */
export interface DeliveryRef {
  readonly workspaceId: string;
  readonly deliveryId: string;
}

/** A delivery whose turn has come. */
export interface DueDelivery {
  readonly workspaceId: string;
  readonly id: string;
  readonly endpointId: string | null;
  readonly triggerId: string | null;
  /** Of a notification channel, which may have been removed. */
  readonly channelId: string | null;
  readonly notificationId: string | null;
  readonly type: string;
  readonly orderKey: string | null;
  readonly body: string;
  readonly target: TriggerTarget | null;
  readonly attempts: number;
  /** Number of its newest queue message. */
  readonly message: number;
  /** Null for triggers and channels. */
  readonly endpoint: SendingEndpoint | null;
}

/** The settings of an endpoint that a send needs. */
export interface SendingEndpoint {
  readonly url: string;
  readonly enabled: boolean;
  readonly signature: SignatureStyle;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: SealedSecrets;
}

/** The changes after an attempt. */
export interface Settlement {
  readonly status: DeliveryStatus;
  readonly reason: string | null;
  /** Ms since the epoch; of a pending delivery. */
  readonly nextAt: number | null;
  /** Null: there was no attempt. */
  readonly attempt: Attempt | null;
  readonly now: number;
}

type DeliverMessage = QueueMessage<'webhook.deliver'>;

/** Maximum kept attempts. */
const keptAttempts = 20;

interface SentRow {
  readonly id: string;
  readonly endpointId: string | null;
  readonly triggerId: string | null;
  readonly channelId: string | null;
  /** Row of the trigger; null: another target, or an older delivery. */
  readonly triggerRow: string | null;
  readonly concurrency: number | null;
  readonly message: number;
  readonly nextAt: number;
}

const sent = Prisma.sql`id, endpoint_id AS "endpointId", trigger_id AS "triggerId", channel_id AS "channelId", target->'trigger'->>'id' AS "triggerRow", (target->>'concurrency')::int AS concurrency, message,
  (extract(epoch FROM next_at) * 1000)::float8 AS "nextAt"`;

/** No earlier delivery of the same order key is pending. */
const isNext = Prisma.sql`NOT EXISTS (SELECT 1 FROM webhook_delivery e WHERE e.workspace_id = d.workspace_id
  AND e.order_key = d.order_key AND e.status = 'pending' AND e.ordinal < d.ordinal)`;

type DueRow = DueDelivery & { readonly isNext: boolean };

const dueSql = ({ workspaceId, deliveryId }: DeliveryRef, message: number) => Prisma.sql`
  SELECT d.workspace_id AS "workspaceId", d.id, d.endpoint_id AS "endpointId", d.trigger_id AS "triggerId",
      d.channel_id AS "channelId", d.notification_id AS "notificationId", d.type, d.order_key AS "orderKey", d.body, d.target, d.attempts, d.message, d.endpoint,
      ${isNext} AS "isNext"
    FROM (SELECT d.*, CASE WHEN e.id IS NULL THEN NULL ELSE jsonb_build_object('url', e.url, 'enabled', e.enabled,
        'signature', e.signature, 'headers', e.headers, 'secrets', jsonb_build_object(
          'secretCipher', encode(e.secret_cipher, 'base64'), 'previousCipher', encode(e.previous_cipher, 'base64'),
          'previousUntil', (extract(epoch FROM e.previous_until) * 1000)::float8, 'earlierCipher', encode(e.earlier_cipher, 'base64'))) END AS endpoint
      FROM webhook_delivery d LEFT JOIN webhook_endpoint e ON e.workspace_id = d.workspace_id AND e.id = d.endpoint_id
     WHERE d.workspace_id = ${workspaceId}::uuid AND d.id = ${deliveryId}::uuid AND d.status = 'pending'
       AND d.message = ${message}) d`;

/** Deliveries of webhooks. Each write returns the queue messages that its caller sends in the same transaction. */
@Injectable()
export class DeliveriesRepository {
  constructor(private readonly prisma: PrismaService) {}

  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  /** A delivery behind another of its order key gets its message when that one ends. */
  async insert(tx: PrismaTransaction, delivery: NewTriggerDelivery, now: number): Promise<DeliverMessage[]> {
    const { workspaceId, id, triggerId, type, body, orderKey, target, notBefore = now } = delivery;
    await this.lockOrder(tx, workspaceId, orderKey);
    const rows = await tx.$queryRaw<(SentRow & { readonly isNext: boolean })[]>`
      WITH d AS (
        INSERT INTO webhook_delivery (workspace_id, id, trigger_id, type, body, order_key, target, next_at, created_at)
        VALUES (${workspaceId}::uuid, ${id}::uuid, ${triggerId}, ${type}, ${body}, ${orderKey}, ${JSON.stringify(target)}::jsonb,
                ${new Date(Math.max(notBefore, now))}, ${new Date(now)})
        ON CONFLICT (workspace_id, id) DO NOTHING RETURNING *)
      SELECT ${sent}, ${isNext} AS "isNext" FROM d`;
    return rows.filter((row) => row.isNext).map((row) => toMessage(workspaceId, row));
  }

  /**
   * Null: it is not pending any more, a newer message exists, or an earlier delivery of its order key is pending, whose end sends a message. The
   * statements that write events do not lock the order key, so an end that is not committed may have missed this delivery: it is waited for.
   */
  async findDue(ref: DeliveryRef, message: number): Promise<DueDelivery | null> {
    const { workspaceId } = ref;
    const query = dueSql(ref, message);
    let [row] = await this.prisma.queryInWorkspace<DueRow>({ workspaceId }, query);
    const orderKey = row?.orderKey;
    if (row?.isNext === false && orderKey != null) {
      [row] = await this.inWorkspace(workspaceId, async (tx) => {
        await this.lockOrder(tx, workspaceId, orderKey);
        return tx.$queryRaw<DueRow[]>(query);
      });
    }
    if (row === undefined || !row.isNext) return null;
    return { ...row, endpoint: row.endpoint === null ? null : decoded(row.endpoint) };
  }

  /**
   * Stores the result of an attempt; null if another process did. Of a finished delivery, the next one of its order key may be sent.
   */
  async settle(
    tx: PrismaTransaction,
    due: DueDelivery,
    { status, reason, nextAt, attempt, now }: Settlement,
  ): Promise<DeliverMessage[] | null> {
    const { workspaceId, id, orderKey, attempts } = due;
    await this.lockOrder(tx, workspaceId, orderKey);
    const added = attempt === null ? Prisma.sql`'[]'` : Prisma.sql`${JSON.stringify([attempt])}`;
    const isPending = status === 'pending';
    const [settled] = await tx.$queryRaw<SentRow[]>`
      UPDATE webhook_delivery SET status = ${status}, reason = ${reason}, message = message + ${isPending ? 1 : 0}::int,
             attempts = attempts + ${attempt === null ? 0 : 1}::int, next_at = coalesce(${nextAt === null ? null : new Date(nextAt)}::timestamptz, next_at),
             finished_at = ${isPending ? null : new Date(now)}::timestamptz,
             log = jsonb_path_query_array(log || ${added}::jsonb, ${`$[last - ${keptAttempts - 1} to last]`}::text::jsonpath)
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'pending' AND attempts = ${attempts}
      RETURNING ${sent}`;
    if (settled === undefined) return null;
    if (isPending) return [toMessage(workspaceId, settled)];
    return orderKey === null ? [] : this.passOn(tx, { workspaceId, orderKey }, now);
  }

  /**
   * Lets dead letters, or one delivered webhook, be sent again: the same id and body in a fresh schedule. Returns how many. Never those of
   * notification channels, whose messages have limits by hour.
   */
  async redeliver(
    tx: PrismaTransaction,
    { workspaceId, ids, now }: { readonly workspaceId: string; readonly ids: readonly string[]; readonly now: number },
  ): Promise<{ readonly count: number; readonly messages: readonly DeliverMessage[] }> {
    const keys = await tx.$queryRaw<{ orderKey: string }[]>`
      SELECT DISTINCT order_key AS "orderKey" FROM webhook_delivery
       WHERE workspace_id = ${workspaceId}::uuid AND id = ANY(${[...ids]}::uuid[]) AND order_key IS NOT NULL ORDER BY 1`;
    // The evaluation of changes locks keys in the order of the changes: this lock keeps the two apart.
    if (keys.length > 0)
      await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('triggers:' || ${workspaceId}, 0))`;
    for (const { orderKey } of keys) await this.lockOrder(tx, workspaceId, orderKey);
    const rows = await tx.$queryRaw<(SentRow & { readonly orderKey: string | null })[]>`
      UPDATE webhook_delivery SET status = 'pending', reason = NULL, attempts = 0, message = message + 1, next_at = ${new Date(now)},
             finished_at = NULL
       WHERE workspace_id = ${workspaceId}::uuid AND id = ANY(${[...ids]}::uuid[]) AND status IN ('dead', 'delivered')
         AND channel_id IS NULL
      RETURNING ${sent}, order_key AS "orderKey"`;
    const messages = rows.filter(({ orderKey }) => orderKey === null).map((row) => toMessage(workspaceId, row));
    for (const { orderKey } of keys) {
      const [first] = await tx.$queryRaw<{ id: string }[]>(firstOf(workspaceId, orderKey));
      messages.push(...rows.filter(({ id }) => id === first?.id).map((row) => toMessage(workspaceId, row)));
    }
    return { count: rows.length, messages };
  }

  /** The messages of deliveries that are overdue since before `before`. pg-boss drops those that are still stored. */
  async findOverdue(before: number, limit: number): Promise<readonly DeliverMessage[]> {
    const rows = await this.prisma.asWorker(
      (client) => client.$queryRaw<(SentRow & { readonly workspaceId: string })[]>`
        SELECT workspace_id AS "workspaceId", ${sent} FROM webhook_delivery d
         WHERE status = 'pending' AND next_at < ${new Date(before)} AND ${isNext} ORDER BY d.next_at LIMIT ${limit}`,
    );
    return rows.map(({ workspaceId, ...row }) => toMessage(workspaceId, row));
  }

  /** Lets the first pending delivery of an order key be sent, under the lock of the key. */
  private async passOn(
    tx: PrismaTransaction,
    { workspaceId, orderKey }: { readonly workspaceId: string; readonly orderKey: string },
    now: number,
  ): Promise<DeliverMessage[]> {
    const rows = await tx.$queryRaw<SentRow[]>`
      UPDATE webhook_delivery SET message = message + 1, next_at = greatest(next_at, ${new Date(now)})
       WHERE workspace_id = ${workspaceId}::uuid AND id = (${firstOf(workspaceId, orderKey)})
      RETURNING ${sent}`;
    return rows.map((row) => toMessage(workspaceId, row));
  }

  /** Locks the order key until the end of the transaction: rows are in the order of commits, and the end of a delivery sees every new one. */
  private async lockOrder(tx: PrismaTransaction, workspaceId: string, orderKey: string | null): Promise<void> {
    if (orderKey === null) return;
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`${workspaceId} ${orderKey}`}, 20261123))`;
  }
}

const firstOf = (workspaceId: string, orderKey: string) => Prisma.sql`
  SELECT id FROM webhook_delivery WHERE workspace_id = ${workspaceId}::uuid AND order_key = ${orderKey} AND status = 'pending'
   ORDER BY ordinal LIMIT 1`;

/** As JSON shows the columns of an endpoint. */
function decoded(endpoint: SendingEndpoint): SendingEndpoint {
  const bytes = (base64: unknown) => Buffer.from(String(base64), 'base64');
  const bytesOrNull = (base64: unknown) => (base64 === null ? null : bytes(base64));
  const { secretCipher, previousCipher, previousUntil, earlierCipher } = endpoint.secrets;
  const secrets = {
    secretCipher: bytes(secretCipher),
    previousCipher: bytesOrNull(previousCipher),
    previousUntil,
    earlierCipher: bytesOrNull(earlierCipher),
  };
  return { ...endpoint, secrets };
}

/** A second message of the same number is not stored. pg-boss deletes messages two weeks after their start time. */
function toMessage(workspaceId: string, row: SentRow): DeliverMessage {
  const { id: deliveryId, endpointId, triggerId, triggerRow, channelId, concurrency, message: number } = row;
  const limited = endpointId ?? channelId;
  const startAfter = Math.ceil(row.nextAt);
  const group =
    limited === null
      ? { id: `${workspaceId}/${triggerRow ?? triggerId ?? ''}`, tier: String(concurrency ?? 1) }
      : { id: limited };
  const id = number === 0 ? deliveryId : idFrom(deliveryId, number); // as the statements that write events do
  return { id, data: { workspaceId, deliveryId, number }, startAfter, group };
}
