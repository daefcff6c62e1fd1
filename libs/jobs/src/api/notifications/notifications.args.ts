import { ArgsType, Field, InputType } from '@nestjs/graphql';

import { PageArgs } from '#platform/api';

import type { NotificationType } from '../../notifications/notification.js';
import { NotificationTypeEnum } from './notification.enums.js';

@InputType({ description: 'Compares the type of a notification.' })
class NotificationTypeFilter {
  @Field(() => NotificationTypeEnum, { nullable: true, description: 'Equals this type.' })
  eq?: NotificationType | null;

  @Field(() => [NotificationTypeEnum], { nullable: true, description: 'Is one of these.' })
  in?: NotificationType[] | null;
}

/** Filters of a list of notifications. */
@InputType({ description: 'Filters for notifications. All given fields must match.' })
export class NotificationFilterInput {
  @Field(() => Boolean, { nullable: true, description: 'True: only read ones. False: only unread ones.' })
  read?: boolean | null;

  @Field(() => NotificationTypeFilter, { nullable: true, description: 'By type.' })
  type?: NotificationTypeFilter | null;
}

/** Arguments of `notifications`. */
@ArgsType()
export class NotificationsArgs extends PageArgs {
  @Field(() => NotificationFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all notifications of the caller.',
  })
  filter?: NotificationFilterInput | null;
}

/** Arguments of `notificationActivity`. */
@ArgsType()
export class NotificationActivityArgs {
  @Field(() => NotificationFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all notifications of the caller.',
  })
  filter?: NotificationFilterInput | null;
}
