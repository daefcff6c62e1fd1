import { Field, ID, InputType, Int } from '@nestjs/graphql';

import { payloadOf } from '#platform/api';

import { NotificationModel } from './notification.model.js';

/** The input of `markNotificationRead`. */
@InputType({ description: 'One notification of the caller.' })
export class MarkNotificationReadInput {
  @Field(() => ID, { description: 'The notification.' })
  id!: string;
}

/** The input of `markAllNotificationsRead`. */
@InputType({ description: 'Which notifications of the caller to mark as read.' })
export class MarkAllNotificationsReadInput {
  @Field(() => ID, {
    nullable: true,
    description: 'The newest notification to mark; newer ones stay unread. Absent: all are marked.',
  })
  upTo?: string | null;
}

export const MarkNotificationReadPayload = payloadOf({
  name: 'MarkNotificationReadPayload',
  description: 'The notification after the change, or the reasons why nothing changed.',
  fields: { notification: [NotificationModel, 'Its current state.'] },
  errors: 'The reasons why nothing was marked. Empty if it is read.',
});

export const MarkAllNotificationsReadPayload = payloadOf({
  name: 'MarkAllNotificationsReadPayload',
  description: 'The number of notifications that were marked as read.',
  fields: { marked: [Int, 'How many were unread.'] },
  errors: 'The reasons why nothing was marked. Empty if all are read.',
});
