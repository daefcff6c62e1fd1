import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { NotificationTypeEnum } from '#jobs/api';
import { DateTime, defineEnum, payloadOf } from '#platform/api';

import type { ChannelKind, NotificationChannel } from '../outbound/notifications/notification-channel.js';

/** The transport of a channel. */
export const NotificationChannelKindEnum = defineEnum('NotificationChannelKind', 'How a channel sends notifications.', {
  EMAIL: ['email', 'By e-mail. The operator must have set a mail server.'],
  WEBHOOK: ['webhook', 'By a signed `POST` to the URL.'],
});

/** Why the server disabled a channel. */
export const NotificationChannelDisabledEnum = defineEnum(
  'NotificationChannelDisabledReason',
  'Why the server disabled a channel.',
  {
    GONE: ['gone', 'The URL responded with status 410.'],
    FAILING: ['failing', '10 notifications in a row could not be delivered.'],
    UNSUBSCRIBED: ['unsubscribed', 'The recipient used the unsubscribe link of an e-mail.'],
  },
);

@ObjectType('NotificationChannel', {
  description: 'An e-mail address or URL to which notifications are sent, in addition to the inbox.',
})
export class NotificationChannelModel implements Omit<NotificationChannel, 'confirmedAt'> {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, {
    nullable: true,
    description: 'The user whose notifications the channel receives. Null: all users of the workspace.',
  })
  userId!: string | null;

  @Field(() => NotificationChannelKindEnum, { description: 'How the channel sends notifications.' })
  kind!: ChannelKind;

  @Field(() => String, { description: 'The e-mail address, in lower case, or the URL.' })
  address!: string;

  @Field(() => [NotificationTypeEnum], { description: 'The types of notifications that the channel receives.' })
  events!: NotificationChannel['events'];

  @Field(() => Boolean, { description: 'Whether notifications are sent over the channel.' })
  enabled!: boolean;

  @Field(() => NotificationChannelDisabledEnum, {
    nullable: true,
    description: 'Why the server disabled the channel. Null: the server did not disable it.',
  })
  disabledBecause!: NotificationChannel['disabledBecause'];

  @Field(() => Boolean, { description: 'Whether its messages contain titles of threads, requests and workflows.' })
  includeTitle!: boolean;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When its address was confirmed. Null: not confirmed, so the channel receives no notifications (`confirmNotificationChannel`).',
  })
  confirmedAt!: number | null;

  @Field(() => Int, {
    description: 'How many notifications were not sent since the last e-mail, because of the hourly limit for e-mails.',
  })
  dropped!: number;

  @Field(() => String, {
    nullable: true,
    description: 'Code of the last failure, such as `smtp_550` or `http_503`. Null: the last attempt succeeded.',
  })
  lastError!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When the last message was sent. Null: never.' })
  lastSentAt!: number | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

@InputType({ description: 'A notification channel to save.' })
export class SaveNotificationChannelInput {
  @Field(() => ID, {
    nullable: true,
    description: 'The channel to replace; its kind and owner cannot change. Absent: the mutation creates a channel.',
  })
  id?: string | null;

  @Field(() => NotificationChannelKindEnum, { description: 'How the channel sends notifications.' })
  kind!: ChannelKind;

  @Field(() => String, {
    description:
      'An e-mail address or a URL. A URL must begin with https:// and resolve to a public address, unless the operator allows other URLs.',
  })
  address!: string;

  @Field(() => [NotificationTypeEnum], {
    defaultValue: ['job_completed', 'job_failed', 'input_needed', 'endpoint_disabled'],
    description: 'The types of notifications that the channel receives.',
  })
  events!: string[];

  @Field(() => Boolean, { defaultValue: true, description: 'Whether notifications are sent over the channel.' })
  enabled!: boolean;

  @Field(() => Boolean, {
    defaultValue: false,
    description: 'Whether its messages contain titles of threads, requests and workflows.',
  })
  includeTitle!: boolean;

  @Field(() => Boolean, {
    name: 'workspaceWide',
    defaultValue: false,
    description:
      'Whether the channel receives the notifications of all users of the workspace instead of the caller only. Requires the role owner or admin.',
  })
  isWorkspaceWide!: boolean;
}

@InputType({ description: 'The notification channel.' })
export class NotificationChannelInput {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;
}

@InputType({ description: 'The channel whose address to confirm.' })
export class ConfirmNotificationChannelInput extends NotificationChannelInput {
  @Field(() => String, {
    description: 'The code from the latest e-mail. A code is valid for one hour and five tries.',
  })
  code!: string;
}

export const NotificationChannelPayload = payloadOf({
  name: 'NotificationChannelPayload',
  description: 'The channel after the change (before it, if removed), or why nothing changed.',
  fields: {
    channel: [NotificationChannelModel, 'The channel.'],
    secret: [
      String,
      'The secret that signs the webhooks of a new channel, shown only once. Null: the secret did not change.',
    ],
  },
});
