import { randomBytes } from 'node:crypto';

import { AppError, type SealedColumn, Secret, type SecretBox, type SecretPlace } from '#platform';

import type { SignatureStyle } from '../signature.js';

/** The sealed secrets of an endpoint. */
export interface SealedSecrets {
  readonly secretCipher: Uint8Array;
  /** The secret before the last rotation; null: it was never rotated. */
  readonly previousCipher: Uint8Array | null;
  /** Ms since the epoch. */
  readonly previousUntil: number | null;
  /** Those before the previous one; null: none. */
  readonly earlierCipher: Uint8Array | null;
}

interface EndpointRef {
  readonly workspaceId: string;
  readonly id: string;
}

/** A secret that signs until `until`, in ms since the epoch. */
interface PastSecret {
  readonly text: string;
  readonly until: number;
}

/** The stored secrets, and the current time in ms since the epoch. */
interface Moment {
  readonly stored: SealedSecrets;
  readonly now: number;
}

const overlapMs = 24 * 3_600_000;
/** Previous secrets that sign, the last one included. */
const maxPast = 5;

/** A new secret as Standard Webhooks writes it: 32 random bytes. */
export function newEndpointSecret(): Secret {
  return new Secret(`whsec_${randomBytes(32).toString('base64')}`);
}

/** Throws `bad_request` for the field `secret` if a given secret does not fit the signature style. */
export function assertFits(secret: Secret, style: SignatureStyle): void {
  const text = secret.reveal();
  if (style === 'syntrix' ? /^[\x21-\x7e]{24,75}$/.test(text) : isStandardSecret(secret)) return;
  const form =
    style === 'syntrix'
      ? 'a string of 24 to 75 ASCII characters without spaces'
      : 'whsec_ followed by the base64 form of 24 to 64 bytes';
  throw new AppError({ code: 'bad_request', message: `The secret must be ${form}.`, field: 'secret' });
}

/** Whether consumers of Standard Webhooks can verify with it. */
export function isStandardSecret(secret: Secret): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(secret.reveal())?.[1];
  if (base64 === undefined) return false;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === base64;
}

/** The secrets of a new endpoint. */
export function firstSecret(box: SecretBox, { workspaceId, id }: EndpointRef, secret: Secret): Uint8Array {
  return box.seal(secret, endpointPlace(workspaceId, id));
}

/** The secrets after a rotation: the current one and those before it sign for 24 hours after they were replaced, at most five of them. */
export function rotatedSecrets(
  box: SecretBox,
  { workspaceId, id }: EndpointRef,
  { stored, secret, now }: Moment & { readonly secret: Secret },
): SealedSecrets {
  const earlier = pastSecrets(box, { workspaceId, id }, { stored, now }).slice(0, maxPast - 1);
  return {
    secretCipher: box.seal(secret, endpointPlace(workspaceId, id)),
    previousCipher: stored.secretCipher,
    previousUntil: now + overlapMs,
    earlierCipher:
      earlier.length === 0 ? null : box.seal(new Secret(JSON.stringify(earlier)), earlierPlace(workspaceId, id)),
  };
}

/** The secrets that sign now, newest first. Throws `secret_unreadable` only if the newest cannot be opened. */
export function openSecrets(box: SecretBox, ref: EndpointRef, { stored, now }: Moment): Secret[] {
  const past = pastSecrets(box, ref, { stored, now }).map(({ text }) => new Secret(text));
  return [box.open(stored.secretCipher, endpointPlace(ref.workspaceId, ref.id)), ...past];
}

/** Newest first. One that cannot be opened signs no longer. */
function pastSecrets(
  box: SecretBox,
  { workspaceId, id }: EndpointRef,
  { stored: { previousCipher, previousUntil, earlierCipher }, now }: Moment,
): PastSecret[] {
  const previous = openOrNull(box, previousCipher, endpointPlace(workspaceId, id));
  const earlier = openOrNull(box, earlierCipher, earlierPlace(workspaceId, id));
  const past = [
    ...(previous === null ? [] : [{ text: previous.reveal(), until: previousUntil ?? 0 }]),
    ...(earlier === null ? [] : (JSON.parse(earlier.reveal()) as PastSecret[])), // as `rotatedSecrets` wrote it
  ];
  return past.filter(({ until }) => until > now);
}

function openOrNull(box: SecretBox, cipher: Uint8Array | null, place: SecretPlace): Secret | null {
  if (cipher === null) return null;
  try {
    return box.open(cipher, place);
  } catch (error) {
    if (error instanceof AppError && error.code === 'secret_unreadable') return null;
    throw error;
  }
}

/** Where the present and the previous secret are sealed to: a rotation moves one to the other column. */
function endpointPlace(workspaceId: string, id: string): SecretPlace {
  return { workspaceId, table: 'webhook_endpoint', row: id, field: 'secret' };
}

function earlierPlace(workspaceId: string, id: string): SecretPlace {
  return { workspaceId, table: 'webhook_endpoint', row: id, field: 'earlier' };
}

const sealedAs = (column: string, place: typeof endpointPlace): SealedColumn => ({
  table: 'webhook_endpoint',
  column,
  placeOf: ({ workspaceId, id }) => place(workspaceId, id),
});

/** The sealed values of endpoints, for a change of the installation's secret. */
export const endpointSecrets = [
  sealedAs('secret_cipher', endpointPlace),
  sealedAs('previous_cipher', endpointPlace),
  sealedAs('earlier_cipher', earlierPlace),
] as const;
