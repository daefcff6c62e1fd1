import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

const SHAPE = /^nsk_([a-z0-9]{12})_[A-Za-z0-9_-]{43}$/;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Compared when the prefix is unknown, so that an unknown prefix takes the time of a known one. */
const NO_DIGEST = Buffer.alloc(32);

/** A key as it is shown, once, and what is stored of it. */
export interface MintedKey {
  readonly text: string;
  readonly prefix: string;
  readonly hash: Uint8Array<ArrayBuffer>;
}

/**
 * Makes and checks API keys: `nsk_<prefix>_<secret>`, 12 characters to look the key up by and 32 random bytes (base64url).
 * Stored is HMAC-SHA-256 of the whole text under a pepper that is not in the database: a stolen table opens no account. A
 * slow password hash would add nothing to 256 random bits.
 */
export class ApiKeyCodec {
  private readonly peppers: readonly Buffer[];

  /** `secret` is NIGHTSHIFT_SECRET, `previous` the secrets before it: keys stored under those are still known. */
  constructor(secret: string, previous: readonly string[] = []) {
    this.peppers = [secret, ...previous].map((one) => createHmac('sha256', one).update('api-key-pepper').digest());
  }

  mint(): MintedKey {
    const prefix = Array.from({ length: 12 }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
    const text = `nsk_${prefix}_${randomBytes(32).toString('base64url')}`;
    return { text, prefix, hash: this.hashOf(text) };
  }

  /** Whether `text` is the key whose digest is `hash`; null: no such key. Constant-time, also for null. */
  matches(text: string, hash: Uint8Array | null): boolean {
    const usable = hash !== null && hash.byteLength === NO_DIGEST.byteLength;
    const found = this.peppers.map((pepper) => timingSafeEqual(digest(pepper, text), usable ? hash : NO_DIGEST));
    return found.includes(true) && usable;
  }

  /** What is stored of a key now; another value than what was stored under an earlier secret. */
  hashOf(text: string): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(digest(this.peppers[0] ?? NO_DIGEST, text));
  }
}

function digest(pepper: Buffer, text: string): Buffer {
  return createHmac('sha256', pepper).update(text).digest();
}

/** The look-up part of a well-formed key, else null. */
export function prefixOf(text: string): string | null {
  return SHAPE.exec(text)?.[1] ?? null;
}
