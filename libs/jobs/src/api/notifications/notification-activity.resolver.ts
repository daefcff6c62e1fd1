import { Args, Context, Resolver, Subscription } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility, Viewers } from '#auth/api';
import { DeliveredIds } from '#platform/api';

import type { Notification, NotificationFilter } from '../../notifications/notification.js';
import { NotificationModel } from './notification.model.js';
import { NotificationActivity } from './notification-activity.js';
import { NotificationActivityArgs } from './notifications.args.js';
import { OwnNotifications } from './own-notifications.js';
import { toNotificationFilter } from './to-notification-filter.js';

type Batches = AsyncGenerator<readonly Notification[], void, undefined>;

const pageSize = 100;

/** A live list of user notifications. */
@Resolver()
export class NotificationActivityResolver {
  constructor(
    private readonly notifications: OwnNotifications,
    private readonly activity: NotificationActivity,
    private readonly viewers: Viewers,
  ) {}

  @RequireAbility('read', 'Notification')
  @Subscription(() => NotificationModel, {
    description:
      'Notifications of the caller: first the unread ones, newest first (at most 100), then each new or newly read one. Reads on other devices arrive within 2 s. After a lost connection, subscribe again.',
  })
  notificationActivity(@Args() { filter }: NotificationActivityArgs, @Context() context: GraphqlContext): Batches {
    this.viewers.enterOwn(context, 'notifications');
    return this.follow(context, toNotificationFilter(filter));
  }

  private async *follow(context: GraphqlContext, filter: NotificationFilter): Batches {
    const { member, signal } = context;
    // Each notification is delivered once as unread, even if it is written while the first page is read. When it is marked as read, it is
    // delivered again, regardless of the filter.
    const delivered = new DeliveredIds();
    const { read, ...wanted } = filter;
    for await (const ids of this.activity.changes({ workspaceId: member.workspaceId, topic: member.userId }, signal)) {
      context.forget();
      if (ids.length === 0 && filter.read !== true) {
        const page = await this.notifications.list(member, { ...filter, read: false }, { limit: pageSize });
        const unread = page.slice(0, pageSize);
        yield unread.filter(({ id }) => delivered.begin(id));
      }
      for (let i = 0; i < ids.length; i += pageSize) {
        const found = await this.notifications.findMany(member, wanted, ids.slice(i, i + pageSize));
        yield found.filter(({ id, readAt }) => {
          if (readAt === null) return read !== true && delivered.begin(id);
          return delivered.end(id) || read !== false;
        });
      }
    }
  }
}
