import { Injectable } from '@nestjs/common';

import { NotificationsRepository, type UnreadNotification } from '#jobs';
import { type Clock, Config, idFrom, PrismaService, type PrismaTransaction, Queues, systemClock } from '#platform';

import { ChannelDeliveriesRepository, type NewChannelDelivery } from './channel-deliveries.repository.js';
import { notificationBody } from './notification-body.js';
import { type ActiveChannel, NotificationChannelsRepository } from './notification-channels.repository.js';

/** Notifications per page; one transaction dispatches a page. */
const pageSize = 500;
const maxPages = 20;

/** Counters while one page is dispatched. */
interface Budget {
  /** How many e-mails may still be sent in this hour, by owner of the channels. */
  readonly left: Map<string, number>;
  /** How many notifications were dropped, by channel. */
  readonly dropped: Map<string, number>;
}

/**
 * Dispatches notifications to the channels that subscribe to them. Each workspace has a cursor, a transaction id before which every transaction
 * has ended, so that no notification is missed. A notification that is read twice has the same delivery id, so its delivery is stored once. The deliveries, their queue messages and
 * the cursor are written in one transaction. Writing a notification has no extra cost: jobs do not know about channels.
 */
@Injectable()
export class NotificationDispatch {
  /** Tests replace it. */
  clock: Clock = systemClock;

  constructor(
    private readonly prisma: PrismaService,
    private readonly notifications: NotificationsRepository,
    private readonly channels: NotificationChannelsRepository,
    private readonly deliveries: ChannelDeliveriesRepository,
    private readonly queues: Queues,
    private readonly config: Config,
  ) {}

  /** Dispatches the new notifications of a workspace. Concurrent calls run one after the other. */
  async dispatch(workspaceId: string): Promise<void> {
    let after: UnreadNotification | null = null;
    for (let page = 0; page < maxPages; page += 1) {
      after = await this.dispatchPage(workspaceId, after);
      if (after === null) return;
    }
  }

  /** Returns the last notification of a full page; null: there are no more. */
  private dispatchPage(workspaceId: string, after: UnreadNotification | null): Promise<UnreadNotification | null> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const since = await this.channels.lockCursor(tx, workspaceId);
      const channels = await this.channels.active(tx, workspaceId); // under the lock: their counters change with it
      if (channels.length === 0) return null;
      const page = { since, after, limit: pageSize };
      const { oldestRunning, notifications } = await this.notifications.unreadFrom(tx, workspaceId, page);
      const wanted = notifications.flatMap((notification) => wantedBy(notification, channels));
      if (wanted.length > 0) await this.add(tx, workspaceId, wanted);
      const last = (notifications.length === pageSize ? notifications.at(-1) : undefined) ?? null;
      // The cursor never passes the oldest running transaction, which may still commit a notification.
      const isBehind = last !== null && BigInt(last.changedIn) < BigInt(oldestRunning);
      await this.channels.moveCursor(tx, workspaceId, isBehind ? last.changedIn : oldestRunning);
      return last;
    });
  }

  private async add(tx: PrismaTransaction, workspaceId: string, wanted: readonly Wanted[]): Promise<void> {
    const now = this.clock.now();
    const ids = wanted.map(({ id }) => id);
    const existing = await this.deliveries.existing(tx, workspaceId, ids);
    const fresh = wanted.filter(({ id }) => !existing.has(id));
    if (fresh.length === 0) return;
    const budget = await this.budget(tx, workspaceId, {
      channels: [...new Set(fresh.map(({ channel }) => channel))],
      now,
    });
    const added = fresh.map((each) => this.toDelivery(workspaceId, each, budget));
    const messages = await this.deliveries.insert(tx, added, { workspaceId, now });
    await this.queues.send(tx, 'webhook.deliver', messages);
    for (const [id, dropped] of budget.dropped) await this.channels.setDropped(tx, { workspaceId, id }, dropped);
  }

  private toDelivery(workspaceId: string, { id, channel, notification }: Wanted, budget: Budget): NewChannelDelivery {
    const { left, dropped: droppedOf } = budget;
    const owner = ownerOf(channel);
    const dropped = droppedOf.get(channel.id) ?? channel.dropped;
    const isDropped = channel.kind === 'email' && (left.get(owner) ?? 0) <= 0;
    if (isDropped) droppedOf.set(channel.id, dropped + 1);
    else if (dropped > 0) droppedOf.set(channel.id, 0);
    if (channel.kind === 'email' && !isDropped) left.set(owner, (left.get(owner) ?? 0) - 1);
    const page = this.config.values.NOTIFICATION_URL;
    const body = notificationBody(workspaceId, notification, { channel, dropped: isDropped ? 0 : dropped, page });
    return {
      ...{ id, channelId: channel.id, notificationId: notification.id, type: body.type, jobId: notification.jobId },
      ...{ body: JSON.stringify(body), isDropped },
    };
  }

  private async budget(
    tx: PrismaTransaction,
    workspaceId: string,
    { channels, now }: { readonly channels: readonly ActiveChannel[]; readonly now: number },
  ): Promise<Budget> {
    const left = new Map<string, number>();
    const mails = Map.groupBy(
      channels.filter(({ kind }) => kind === 'email'),
      ownerOf,
    );
    for (const [owner, own] of mails) {
      const channelIds = own.map(({ id }) => id);
      const sent = await this.deliveries.sentInLastHour(tx, { workspaceId, channelIds, now });
      left.set(owner, this.config.values.MAILS_PER_HOUR - sent);
    }
    return { left, dropped: new Map() };
  }
}

/** A notification for a channel. */
interface Wanted {
  /** Derived from the two ids, so that a second dispatch has the same delivery id. */
  readonly id: string;
  readonly channel: ActiveChannel;
  readonly notification: UnreadNotification;
}

function wantedBy(notification: UnreadNotification, channels: readonly ActiveChannel[]): Wanted[] {
  return channels
    .filter(
      ({ userId, events, activeSince }) =>
        (userId === null || userId === notification.userId) &&
        events.includes(notification.type) &&
        notification.createdAt >= activeSince,
    )
    .map((channel) => ({ id: idFrom('notification', notification.id, channel.id), channel, notification }));
}

function ownerOf({ userId }: ActiveChannel): string {
  return userId ?? 'workspace';
}
