import { type NotificationType, notificationTypes } from '#jobs';
import type { SealedColumn, SecretPlace } from '#platform';

export const channelKinds = ['email', 'webhook'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** Events that a channel can subscribe to: the types of notifications. */
export const channelEvents = notificationTypes;

/** An address to which notifications are sent. Instants in ms since the epoch. */
export interface NotificationChannel {
  readonly id: string;
  /** The user whose notifications it receives; null: all users of the workspace. */
  readonly userId: string | null;
  readonly kind: ChannelKind;
  /** An e-mail address in lower case, or a URL. */
  readonly address: string;
  readonly events: readonly NotificationType[];
  readonly enabled: boolean;
  /** Why the server disabled it; null: it did not. */
  readonly disabledBecause: 'gone' | 'failing' | 'unsubscribed' | null;
  /** Whether its messages contain titles of threads, requests and workflows. */
  readonly includeTitle: boolean;
  /** Null: the address is not confirmed, so no notification is sent to it. */
  readonly confirmedAt: number | null;
  /** Notifications over the hourly limit since the last one that was sent. */
  readonly dropped: number;
  /** Of the last attempt; null: it succeeded. */
  readonly lastError: string | null;
  readonly lastSentAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Types of deliveries without a notification. */
export const confirmType = 'channel.confirm';
export const testType = 'channel.test';

/** Where the secret that signs webhooks, and the code that confirms an address, are sealed to. */
export function channelPlace(workspaceId: string, id: string, field: 'secret' | 'code' | 'unsubscribe'): SecretPlace {
  return { workspaceId, table: 'notification_channel', row: id, field };
}

const sealedAs = (column: string, field: 'secret' | 'code'): SealedColumn => ({
  table: 'notification_channel',
  column,
  placeOf: ({ workspaceId, id }) => channelPlace(workspaceId, id, field),
});

/** The sealed values of channels, for a change of the installation's secret. */
export const channelSecrets = [sealedAs('secret_cipher', 'secret'), sealedAs('code_cipher', 'code')] as const;
