import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

const SHAPE = /^nsk_([a-z0-9]{12})_[A-Za-z0-9_-]{43}$/;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Compared if the prefix is unknown, so that this takes as long as for a known prefix. */
const NO_DIGEST = Buffer.alloc(32);

/** A new key: its whole text, which is shown once, and the parts that are stored. */
export interface MintedKey {
  readonly text: string;
  readonly prefix: string;
  readonly hash: Uint8Array<ArrayBuffer>;
}

/**
 * Creates and checks API keys: `nsk_<prefix>_<secret>`, with a prefix of 12 characters for the look-up and a secret of 32 random bytes
 * (base64url). The database stores HMAC-SHA-256 of the whole text with a pepper that is not in the database, so a stolen table gives no
 * access. A slow password hash would add nothing to 256 random bits.
 */
export class ApiKeyCodec {
  private readonly peppers: readonly Buffer[];

  /** `secret` is NIGHTSHIFT_SECRET, `previous` are the secrets before it: keys that were stored with those are still valid. */
  constructor(secret: string, previous: readonly string[] = []) {
    this.peppers = [secret, ...previous].map((one) => createHmac('sha256', one).update('api-key-pepper').digest());
  }

  mint(): MintedKey {
    const prefix = Array.from({ length: 12 }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
    const text = `nsk_${prefix}_${randomBytes(32).toString('base64url')}`;
    return { text, prefix, hash: this.hashOf(text) };
  }

  /** Whether `text` is the key with the digest `hash`; null: the key does not exist. Takes constant time, also for null. */
  matches(text: string, hash: Uint8Array | null): boolean {
    const usable = hash !== null && hash.byteLength === NO_DIGEST.byteLength;
    const found = this.peppers.map((pepper) => timingSafeEqual(digest(pepper, text), usable ? hash : NO_DIGEST));
    return found.includes(true) && usable;
  }

  /** The hash to store for a key now. It differs from the stored hash if that was made with an earlier secret. */
  hashOf(text: string): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(digest(this.peppers[0] ?? NO_DIGEST, text));
  }
}

function digest(pepper: Buffer, text: string): Buffer {
  return createHmac('sha256', pepper).update(text).digest();
}

/** The prefix of a well-formed key, else null. */
export function prefixOf(text: string): string | null {
  return SHAPE.exec(text)?.[1] ?? null;
}
