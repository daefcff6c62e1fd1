import { createHmac, timingSafeEqual } from 'node:crypto';

/** How old a signed request may be, and how far its clock may be ahead. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** The two header styles, and both at once. */
export const signatureStyles = ['standard', 'syntrix', 'both'] as const;

/** `standard`: Standard Webhooks 1.0. `syntrix`: one header with a time and hex digests. */
export type SignatureStyle = (typeof signatureStyles)[number];

/** What is signed. */
export interface SignedMessage {
  /** The id of the delivery, the same on each retry. */
  readonly id: string;
  /** Seconds since the epoch, of this attempt. */
  readonly timestamp: number;
  /** The bytes that are sent. */
  readonly body: string | Uint8Array;
}

/** The headers that sign a message with every secret, in their order; none without a secret. */
export function signatureHeaders(
  style: SignatureStyle,
  secrets: readonly string[],
  message: SignedMessage,
): Readonly<Record<string, string>> {
  if (secrets.length === 0) return {};
  return {
    ...(style === 'syntrix' ? {} : standardHeaders(secrets, message)),
    ...(style === 'standard' ? {} : syntrixHeaders(secrets, message)),
  };
}

function standardHeaders(secrets: readonly string[], message: SignedMessage): Record<string, string> {
  const signatures = secrets.map((secret) => `v1,${standardDigest(secret, message).toString('base64')}`);
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

function syntrixHeaders(secrets: readonly string[], message: SignedMessage): Record<string, string> {
  const signatures = secrets.map((secret) => `v1=${syntrixDigest(secret, message).toString('hex')}`);
  return {
    'X-Syntrix-Signature': [`t=${message.timestamp}`, ...signatures].join(','),
    'X-Nightshift-Delivery': message.id,
  };
}

/** A request to verify: lower-case header names and the bytes as they arrived. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

export interface VerifyOptions {
  /** Now, in ms since the epoch. */
  readonly now: number;
  readonly toleranceSeconds?: number;
}

/**
 * Whether one of the secrets signed the request, at most `toleranceSeconds` (default 300) before or after `now`. Reads the headers of
 * either style; if both are present, one of them must match. Digests are compared in constant time.
 */
export function isSignedBy(
  secrets: readonly string[],
  { headers, body }: SignedRequest,
  { now, toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS }: VerifyOptions,
): boolean {
  const isFresh = (timestamp: number) => Math.abs(Math.floor(now / 1_000) - timestamp) <= toleranceSeconds;
  return [readStandard(headers), readSyntrix(headers)].some((found) => {
    if (found === null || !isFresh(found.timestamp)) return false;
    const { id, timestamp } = found;
    // Every pair is compared, so that the time does not show which secret or signature matches.
    return secrets
      .map((secret) => found.digest(secret, { id, timestamp, body }))
      .flatMap((expected) => found.signatures.map((given) => isSame(given, expected)))
      .includes(true);
  });
}

/** Which headers sign the request; only `standard` covers the `webhook-id`. Null: none, as for `isSignedBy`. */
export function signatureStyleOf(
  secrets: readonly string[],
  request: SignedRequest,
  options: VerifyOptions,
): 'standard' | 'syntrix' | null {
  const standard = { ...request, headers: { ...request.headers, 'x-syntrix-signature': undefined } };
  if (isSignedBy(secrets, standard, options)) return 'standard';
  return isSignedBy(secrets, request, options) ? 'syntrix' : null;
}

/** Why no secret signed the request, for the log of the operator: the sender is not told. */
export function signatureProblem(
  { headers }: SignedRequest,
  { now, toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS }: VerifyOptions,
): string {
  const ages = [readStandard(headers), readSyntrix(headers)].flatMap((found) =>
    found === null ? [] : [Math.floor(now / 1_000) - found.timestamp],
  );
  const [age] = ages;
  if (age === undefined) return 'the request has no complete signature headers';
  if (ages.some((each) => Math.abs(each) <= toleranceSeconds)) return 'the signature does not match the secret';
  return `the time of the signature is ${Math.abs(age)} s ${age > 0 ? 'before' : 'after'} the clock of the server`;
}

interface Signatures {
  readonly id: string;
  readonly timestamp: number;
  readonly signatures: readonly Buffer[];
  readonly digest: (secret: string, message: SignedMessage) => Buffer;
}

/** A request with more signatures than this is refused: each costs a digest per secret. */
const maxSignatures = 16;

function readStandard(headers: SignedRequest['headers']): Signatures | null {
  const [id, time, list] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  if (typeof id !== 'string' || typeof time !== 'string' || typeof list !== 'string') return null;
  const timestamp = readSeconds(time);
  const given = list.split(' ').filter((signature) => signature.startsWith('v1,'));
  if (timestamp === null || given.length > maxSignatures) return null;
  const signatures = decoded(given, /^v1,([A-Za-z0-9+/]{43}=)$/, 'base64');
  return { id, timestamp, signatures, digest: standardDigest };
}

function readSyntrix(headers: SignedRequest['headers']): Signatures | null {
  const header = headers['x-syntrix-signature'];
  if (typeof header !== 'string') return null;
  const fields = header.split(',').map((field) => field.trim());
  const times = fields.filter((field) => field.startsWith('t='));
  const given = fields.filter((field) => field.startsWith('v1='));
  const timestamp = readSeconds(times[0]?.slice(2) ?? '');
  if (timestamp === null || times.length !== 1 || given.length > maxSignatures) return null;
  const signatures = decoded(given, /^v1=([0-9a-f]{64})$/i, 'hex');
  return { id: '', timestamp, signatures, digest: syntrixDigest };
}

/** Decoding ignores characters that do not belong to a digest, so texts of another form are left out before. */
function decoded(given: readonly string[], form: RegExp, encoding: 'base64' | 'hex'): readonly Buffer[] {
  return given.flatMap((text) => {
    const digest = form.exec(text)?.[1];
    return digest === undefined ? [] : [Buffer.from(digest, encoding)];
  });
}

function readSeconds(text: string): number | null {
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** At least 8 bytes of base64: decoding ignores other characters, so the key of such a text could be empty. */
const standardSecret = /^whsec_((?:[A-Za-z0-9+/]{4}){2,}(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?)$/;

/** The key of a secret `whsec_<base64>` is its decoded part; any other secret is its own key. */
function standardDigest(secret: string, { id, timestamp, body }: SignedMessage): Buffer {
  const encoded = standardSecret.exec(secret)?.[1];
  const key = encoded === undefined ? secret : Buffer.from(encoded, 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
}

function syntrixDigest(secret: string, { timestamp, body }: SignedMessage): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
}
