import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { UserError } from '#platform/api';

import { NotificationModel } from './notification.model.js';

/** Which one. */
@InputType({ description: 'One notification of the caller.' })
export class MarkNotificationReadInput {
  @Field(() => ID, { description: 'The notification.' })
  id!: string;
}

/** Which ones. */
@InputType({ description: 'Which notifications of the caller to mark as read.' })
export class MarkAllNotificationsReadInput {
  @Field(() => ID, {
    nullable: true,
    description: 'The newest notification to mark; newer ones stay unread. Absent: all are marked.',
  })
  upTo?: string | null;
}

/** What became of a mark. */
@ObjectType({ description: 'The notification after the change, or the reasons why nothing changed.' })
export class MarkNotificationReadPayload {
  @Field(() => NotificationModel, { nullable: true, description: 'Its current state.' })
  notification?: NotificationModel;

  @Field(() => [UserError], { description: 'The reasons why nothing was marked. Empty if it is read.' })
  userErrors!: UserError[];
}

/** What became of many marks. */
@ObjectType({ description: 'The number of notifications that were marked as read.' })
export class MarkAllNotificationsReadPayload {
  @Field(() => Int, { nullable: true, description: 'How many were unread.' })
  marked?: number;

  @Field(() => [UserError], { description: 'The reasons why nothing was marked. Empty if all are read.' })
  userErrors!: UserError[];
}
