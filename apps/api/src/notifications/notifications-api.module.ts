import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { NotificationInbox } from './notification-inbox.js';
import { NotificationsController } from './notifications.controller.js';
import { OwnNotifications } from './own-notifications.js';

/** Notifications over REST; `OwnNotifications` serves GraphQL as well. */
@Module({
  imports: [JobsModule],
  controllers: [NotificationsController],
  providers: [NotificationInbox, OwnNotifications],
  exports: [OwnNotifications],
})
export class NotificationsApiModule {}
