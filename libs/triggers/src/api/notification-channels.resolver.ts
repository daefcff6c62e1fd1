import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { listCost, toPayload } from '#platform/api';

import type { NotificationChannel } from '../outbound/notifications/notification-channel.js';
import { channelNotFound, NotificationChannels } from '../outbound/notifications/notification-channels.service.js';
import {
  ConfirmNotificationChannelInput,
  NotificationChannelInput,
  NotificationChannelModel,
  NotificationChannelPayload,
  SaveNotificationChannelInput,
} from './notification-channels.model.js';

/** The caller's own notification channels, and those of the workspace for owners and admins. */
@Resolver(() => NotificationChannelModel)
export class NotificationChannelsResolver {
  constructor(private readonly channels: NotificationChannels) {}

  @RequireAbility('read', 'NotificationChannel')
  @Query(() => [NotificationChannelModel], {
    description:
      "The caller's notification channels, at most 10, and for owners and admins those of the workspace, at most 10; oldest first.",
    complexity: listCost(20),
  })
  notificationChannels(@Context() { member }: GraphqlContext): Promise<readonly NotificationChannel[]> {
    return this.channels.list(member);
  }

  @RequireAbility('change', 'NotificationChannel', { absent: channelNotFound })
  @Mutation(() => NotificationChannelPayload, {
    description:
      'Creates a notification channel, or replaces the one with this `id`. The server sends a code for `confirmNotificationChannel` to an e-mail address, unless the token proves that the issuer verified it.',
  })
  saveNotificationChannel(
    @Args('input', { type: () => SaveNotificationChannelInput, description: 'The channel.' })
    { id = null, ...given }: SaveNotificationChannelInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => {
      const { channel, secret } = await this.channels.save(member, id, given);
      return { channel, secret: secret?.reveal() ?? null };
    });
  }

  @RequireAbility('change', 'NotificationChannel', { absent: channelNotFound })
  @Mutation(() => NotificationChannelPayload, { description: 'Confirms the e-mail address of a channel.' })
  confirmNotificationChannel(
    @Args('input', { type: () => ConfirmNotificationChannelInput, description: 'The channel and the code.' })
    { id, code }: ConfirmNotificationChannelInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ channel: await this.channels.confirm(member, id, code) }));
  }

  @RequireAbility('change', 'NotificationChannel', { absent: channelNotFound })
  @Mutation(() => NotificationChannelPayload, {
    description: 'Sends another code to the address of a channel. A user can request 5 codes in an hour.',
  })
  requestNotificationChannelCode(
    @Args('input', { type: () => NotificationChannelInput, description: 'The channel.' })
    { id }: NotificationChannelInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ channel: await this.channels.requestCode(member, id) }));
  }

  @RequireAbility('change', 'NotificationChannel', { absent: channelNotFound })
  @Mutation(() => NotificationChannelPayload, {
    description:
      'Sends a test message over a channel. `lastSentAt` or `lastError` of the channel then shows the result.',
  })
  testNotificationChannel(
    @Args('input', { type: () => NotificationChannelInput, description: 'The channel.' })
    { id }: NotificationChannelInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ channel: await this.channels.test(member, id) }));
  }

  @RequireAbility('change', 'NotificationChannel', { absent: channelNotFound })
  @Mutation(() => NotificationChannelPayload, { description: 'Removes a channel. Its pending messages are not sent.' })
  removeNotificationChannel(
    @Args('input', { type: () => NotificationChannelInput, description: 'The channel.' })
    { id }: NotificationChannelInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ channel: await this.channels.remove(member, id) }));
  }
}
