import { Module } from '@nestjs/common';

import { ViewersModule } from '#auth/api';

import { JobsModule } from '../../jobs.module.js';
import { JobsApiModule } from '../jobs-api.module.js';
import { NotificationActivity } from './notification-activity.js';
import { NotificationActivityResolver } from './notification-activity.resolver.js';
import { NotificationInbox } from './notification-inbox.js';
import { NotificationMutationsResolver } from './notification-mutations.resolver.js';
import { NotificationsController } from './notifications.controller.js';
import { NotificationsResolver } from './notifications.resolver.js';
import { OwnNotifications } from './own-notifications.js';

/** The notifications of a user, over REST and GraphQL. */
@Module({
  imports: [JobsApiModule, JobsModule, ViewersModule],
  controllers: [NotificationsController],
  providers: [
    NotificationActivity,
    NotificationInbox,
    OwnNotifications,
    NotificationActivityResolver,
    NotificationMutationsResolver,
    NotificationsResolver,
  ],
})
export class NotificationsApiModule {}
