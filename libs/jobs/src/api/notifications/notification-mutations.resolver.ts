import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { toPayload } from '#platform/api';

import { notificationNotFound } from '../../notifications/notifications.errors.js';
import {
  MarkAllNotificationsReadInput,
  MarkAllNotificationsReadPayload,
  MarkNotificationReadInput,
  MarkNotificationReadPayload,
} from './notification-payloads.model.js';
import { OwnNotifications } from './own-notifications.js';

/** Marks notifications of the caller as read. */
@Resolver()
export class NotificationMutationsResolver {
  constructor(private readonly notifications: OwnNotifications) {}

  @RequireAbility('change', 'Notification', { absent: notificationNotFound })
  @Mutation(() => MarkNotificationReadPayload, {
    description: 'Marks a notification of the caller as read. Idempotent.',
  })
  markNotificationRead(
    @Args('input', { type: () => MarkNotificationReadInput, description: 'The notification.' })
    { id }: MarkNotificationReadInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ notification: await this.notifications.markRead(member, id) }));
  }

  @RequireAbility('change', 'Notification', { absent: notificationNotFound })
  @Mutation(() => MarkAllNotificationsReadPayload, {
    description: 'Marks all notifications of the caller in this workspace as read.',
  })
  markAllNotificationsRead(
    @Args('input', { type: () => MarkAllNotificationsReadInput, description: 'The notifications.' })
    { upTo }: MarkAllNotificationsReadInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ marked: await this.notifications.markAllRead(member, upTo ?? undefined) }));
  }
}
