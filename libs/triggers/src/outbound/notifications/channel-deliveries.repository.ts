import { Injectable } from '@nestjs/common';

import type { PrismaTransaction, QueueMessage } from '#platform';

import { confirmType } from './notification-channel.js';

/** A delivery to add. */
export interface NewChannelDelivery {
  readonly id: string;
  readonly channelId: string;
  readonly notificationId: string | null;
  readonly type: string;
  readonly jobId: string | null;
  /** JSON text. */
  readonly body: string;
  /** Over the hourly limit: it is stored as a dead letter and not sent. */
  readonly isDropped: boolean;
}

const hourMs = 3_600_000;

/** Deliveries to notification channels. They are rows of the same table as webhooks: retried, listed and deleted in the same way. */
@Injectable()
export class ChannelDeliveriesRepository {
  /** Which of these deliveries exist. */
  async existing(tx: PrismaTransaction, workspaceId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await tx.webhookDelivery.findMany({
      where: { workspaceId, id: { in: [...ids] } },
      select: { id: true },
    });
    return new Set(rows.map(({ id }) => id));
  }

  /** Adds the deliveries and returns the queue messages of those that must be sent. */
  async insert(
    tx: PrismaTransaction,
    deliveries: readonly NewChannelDelivery[],
    { workspaceId, now }: { readonly workspaceId: string; readonly now: number },
  ): Promise<QueueMessage<'webhook.deliver'>[]> {
    const at = new Date(now);
    await tx.webhookDelivery.createMany({
      data: deliveries.map(({ isDropped, ...delivery }) => ({
        ...{ ...delivery, workspaceId, nextAt: at, createdAt: at },
        ...(isDropped && { status: 'dead', reason: 'rate_limited', finishedAt: at }),
      })),
    });
    return deliveries
      .filter(({ isDropped }) => !isDropped)
      .map(({ id, channelId }) => ({
        ...{ id, group: { id: channelId } },
        data: { workspaceId, deliveryId: id, number: 0 },
      }));
  }

  /** Deliveries of these channels in the last hour, without those over the hourly limit. */
  sentInLastHour(
    tx: PrismaTransaction,
    { workspaceId, channelIds, now }: { workspaceId: string; channelIds: readonly string[]; now: number },
  ): Promise<number> {
    const inLastHour = { createdAt: { gt: new Date(now - hourMs) }, channelId: { in: [...channelIds] } };
    const isSent = { NOT: { reason: 'rate_limited' } };
    return tx.webhookDelivery.count({
      where: { workspaceId, ...inLastHour, type: { not: confirmType }, OR: [{ reason: null }, isSent] },
    });
  }
}
