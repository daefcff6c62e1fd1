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
