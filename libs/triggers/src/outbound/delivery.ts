import type { OutboundResponse, Secret } from '#platform';

import type { SignatureStyle } from '../signature.js';

/** The retry schedule of one webhook. */
export interface RetryPolicy {
  /** 1 to 20. */
  readonly maxAttempts: number;
  /** Doubles with each attempt, up to `maxBackoffMs`. */
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  /** Timeout of the whole response; at most 30,000. */
  readonly timeoutMs: number;
}

/** The target of a trigger. */
export interface TriggerTarget {
  /** A path without host is a route of this server: a registered `LocalTarget` receives it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signature: SignatureStyle;
  /** Names of workspace secrets that sign; none: unsigned. An unknown one makes the delivery a dead letter. */
  readonly secretNames: readonly string[];
  readonly policy: RetryPolicy;
  /** The row of the trigger, and its database: another database may have a trigger of the same name. Absent in older deliveries. */
  readonly trigger?: { readonly id: string; readonly database: string };
  /** Maximum parallel sends for this trigger in the whole installation, 1 to 64. */
  readonly concurrency: number;
  /** Requests in a second, of all deliveries with this key in the whole installation. Null or absent: any number. */
  readonly rate?: { readonly key: string; readonly limit: number } | null;
  /** The body gets a token for the workspace documents of this thread. Null or absent: none. */
  readonly token?: { readonly triggerId: string; readonly database: string; readonly threadId: string } | null;
}

/** A webhook of a trigger. */
export interface NewTriggerDelivery {
  readonly workspaceId: string;
  /** A uuid. A second delivery with the same id is not stored. */
  readonly id: string;
  readonly triggerId: string;
  /** The event, for lists. */
  readonly type: string;
  /** JSON text, sent as it is. */
  readonly body: string;
  /** Deliveries of one key in a workspace are sent one after the other, in the order in which they were added. */
  readonly orderKey: string | null;
  readonly target: TriggerTarget;
  /** Not sent before this instant (ms since the epoch). */
  readonly notBefore?: number;
}

export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const;

/** `dead`: a dead letter; it stays for 30 days and can be sent again. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One attempt, as the log shows it. */
export interface Attempt {
  /** Ms since the epoch. */
  readonly at: number;
  readonly durationMs: number;
  /** HTTP status; null: no response. */
  readonly status: number | null;
  /** Code of the failure; null: none. */
  readonly error: string | null;
  /** The first 1,024 bytes of the response, redacted. */
  readonly excerpt: string;
}

/** The consequence of an attempt for the delivery. `retry`: not before `notBeforeMs` from now, if the receiver requested it. */
export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly error: string; readonly notBeforeMs?: number }
  | { readonly kind: 'dead'; readonly reason: string; readonly disables?: true };

/** A delivery with the settings of its target. */
export interface Outgoing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signature: SignatureStyle;
  readonly secrets: readonly Secret[];
  readonly timeoutMs: number;
  /** Sent as `preIssuedToken`, in this attempt only. Null or absent: none. */
  readonly token?: Secret | null;
}

/** The result of one attempt. */
export interface Tried {
  readonly verdict: Verdict;
  /** Null: no request was sent, so no attempt is counted. */
  readonly attempt: Omit<Attempt, 'at' | 'durationMs'> | null;
}

/** The delivery becomes a dead letter, and nothing was sent. */
export function unsent(reason: string): Tried {
  return { verdict: { kind: 'dead', reason }, attempt: null };
}

const longestRetryAfterMs = 24 * 3_600_000;

/** The verdict on a response of the receiver. `now` in ms since the epoch. */
export function judgeResponse({ status, headers }: Pick<OutboundResponse, 'status' | 'headers'>, now: number): Verdict {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const error = `http_${status}`;
  if (status === 410) return { kind: 'dead', reason: error, disables: true };
  const isTemporary = status === 408 || status === 425 || status === 429 || status >= 500 || status < 400;
  if (!isTemporary) return { kind: 'dead', reason: error };
  const notBeforeMs = status < 400 ? null : readRetryAfter(headers['retry-after'], now);
  return { kind: 'retry', error, ...(notBeforeMs === null ? {} : { notBeforeMs }) };
}

/** Ms from `now` (RFC 9110, 10.2.3: seconds or a date), at most a day; null: absent or unreadable. */
function readRetryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000];

/** Delays of an endpoint's schedule after each failed attempt. */
const endpointDelaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** Until the next attempt after `attempts` failed ones; null: that was the last. Null `policy`: the schedule of endpoints, ±10 %. */
export function nextDelayMs(policy: RetryPolicy | null, attempts: number, random: () => number): number | null {
  if (policy === null) {
    const delay = endpointDelaysMs[attempts - 1];
    return delay === undefined ? null : Math.round(delay * (0.9 + random() * 0.2));
  }
  if (attempts >= policy.maxAttempts) return null;
  return Math.min(policy.initialBackoffMs * 2 ** (attempts - 1), policy.maxBackoffMs);
}
