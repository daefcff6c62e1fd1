import { ArgsType, Field, InputType } from '@nestjs/graphql';

import type { NotificationType } from '#jobs';

import { PageArgs } from '../graphql/connections/page.args.js';
import { NotificationTypeEnum } from './notification.enums.js';

@InputType({ description: 'Compares what a notification tells of.' })
class NotificationTypeFilter {
  @Field(() => NotificationTypeEnum, { nullable: true, description: 'Is this one.' })
  eq?: NotificationType | null;

  @Field(() => [NotificationTypeEnum], { nullable: true, description: 'Is one of these.' })
  in?: NotificationType[] | null;
}

/** Which notifications. */
@InputType({ description: 'Which notifications a list shows; every member narrows it.' })
export class NotificationFilterInput {
  @Field(() => Boolean, { nullable: true, description: 'Only those that were read, or only those that were not.' })
  read?: boolean | null;

  @Field(() => NotificationTypeFilter, { nullable: true, description: 'By what they tell of.' })
  type?: NotificationTypeFilter | null;
}

/** Arguments of `notifications`. */
@ArgsType()
export class NotificationsArgs extends PageArgs {
  @Field(() => NotificationFilterInput, { nullable: true, description: 'Which ones; absent: all of your own.' })
  filter?: NotificationFilterInput | null;
}

/** Arguments of `notificationActivity`. */
@ArgsType()
export class NotificationActivityArgs {
  @Field(() => NotificationFilterInput, { nullable: true, description: 'Which ones; absent: all of your own.' })
  filter?: NotificationFilterInput | null;
}
