import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { UserError } from '../graphql/user-error.model.js';
import { NotificationModel } from './notification.model.js';

/** Which one. */
@InputType({ description: 'One notification of your own.' })
export class MarkNotificationReadInput {
  @Field(() => ID, { description: 'The notification.' })
  id!: string;
}

/** Which ones. */
@InputType({ description: 'All of your notifications in this workspace.' })
export class MarkAllNotificationsReadInput {
  @Field(() => ID, {
    nullable: true,
    description: 'The newest one that was shown: what was written after it stays unread. Absent: all.',
  })
  upTo?: string | null;
}

/** What became of a mark. */
@ObjectType({ description: 'The notification with its mark, or why there is none.' })
export class MarkNotificationReadPayload {
  @Field(() => NotificationModel, { nullable: true, description: 'As it is now.' })
  notification?: NotificationModel;

  @Field(() => [UserError], { description: 'Why nothing was marked; empty when it is read, now or before.' })
  userErrors!: UserError[];
}

/** What became of many marks. */
@ObjectType({ description: 'How many were marked as read.' })
export class MarkAllNotificationsReadPayload {
  @Field(() => Int, { nullable: true, description: 'How many had not been read.' })
  marked?: number;

  @Field(() => [UserError], { description: 'Why nothing was marked; empty when all are read.' })
  userErrors!: UserError[];
}
