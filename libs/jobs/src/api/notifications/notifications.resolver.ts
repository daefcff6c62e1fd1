import { Args, Context, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { type ConnectionOf, DateTime, idOfCursor, pageCost, toConnection, toCursor, toWantedPage } from '#platform/api';

import type { Job } from '../../job.js';
import type { Notification } from '../../notifications/notification.js';
import { JobModel } from '../job.model.js';
import { JobLoaders } from '../job-loaders.js';
import { NotificationConnection, NotificationModel } from './notification.model.js';
import { NotificationsArgs } from './notifications.args.js';
import { OwnNotifications } from './own-notifications.js';
import { toNotificationFilter } from './to-notification-filter.js';

/** The user notifications of the caller. */
@Resolver(() => NotificationModel)
export class NotificationsResolver {
  constructor(
    private readonly notifications: OwnNotifications,
    private readonly jobs: JobLoaders,
  ) {}

  @RequireAbility('read', 'Notification')
  @Query(() => NotificationConnection, {
    name: 'notifications',
    description: 'Notifications of the caller, newest first. The newest 1,000 of each user are kept.',
    complexity: pageCost,
  })
  async list(
    @Args() args: NotificationsArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<Notification>> {
    const page = toWantedPage(args);
    const filter = toNotificationFilter(args.filter);
    const after = page.cursor === undefined ? {} : { after: idOfCursor(page.cursor, 'notifications', page.field) };
    const rows = await this.notifications.list(member, filter, { limit: page.limit, reverse: page.reverse, ...after });
    const count = () => this.notifications.count(member, filter);
    return toConnection(rows, { page, count, cursorOf: ({ id }) => toCursor('notifications', id) });
  }

  @ResolveField(() => DateTime, { description: 'When it happened.' })
  at({ createdAt }: Notification): number {
    return createdAt;
  }

  @ResolveField(() => Boolean, { description: 'Whether it was read.' })
  read({ readAt }: Notification): boolean {
    return readAt !== null;
  }

  @ResolveField(() => JobModel, { nullable: true, description: 'The job that ended or waits.' })
  job({ jobId }: Notification, _: unknown, context: GraphqlContext): Promise<Job | null> | null {
    return jobId === null ? null : this.jobs.of(context).jobs.load(jobId);
  }
}
