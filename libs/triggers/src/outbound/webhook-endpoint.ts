import { randomBytes } from 'node:crypto';

import { type SealedColumn, Secret, type SecretPlace } from '#platform';

import type { SignatureStyle } from '../signature.js';

/** Events that an endpoint can be sent. */
export const webhookEvents = [
  'job.completed',
  'job.failed',
  'job.cancelled',
  'job.waiting',
  'interrupt.opened',
  'interrupt.resolved',
  'interrupt.expired',
  'tool_call.failed',
  'node.finished',
  'endpoint.disabled',
] as const;

export type WebhookEvent = (typeof webhookEvents)[number];

/** An endpoint, for people: everything but its secrets. Instants in ms since the epoch. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  /** Why the server disabled it; null: it did not. */
  readonly disabledBecause: 'gone' | 'failing' | null;
  readonly signature: SignatureStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** `job.*` events are sent only if the job had no viewer. */
  readonly onlyUnwatched: boolean;
  /** Bodies contain arguments, results and texts. */
  readonly includeContent: boolean;
  /** Until then the secret before the last rotation signs as well. */
  readonly previousSecretUntil: number | null;
  /** The first failed attempt since the last success. */
  readonly failingSince: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A new secret as Standard Webhooks writes it: 32 random bytes. */
export function newEndpointSecret(): Secret {
  return new Secret(`whsec_${randomBytes(32).toString('base64')}`);
}

/** Where both secrets of an endpoint are sealed to: a rotation moves one to the other column. */
export function endpointPlace(workspaceId: string, id: string): SecretPlace {
  return { workspaceId, table: 'webhook_endpoint', row: id, field: 'secret' };
}

const sealedAs = (column: string): SealedColumn => ({
  table: 'webhook_endpoint',
  column,
  placeOf: ({ workspaceId, id }) => endpointPlace(workspaceId, id),
});

/** The sealed values of endpoints, for a change of the installation's secret. */
export const endpointSecrets = [sealedAs('secret_cipher'), sealedAs('previous_cipher')] as const;
