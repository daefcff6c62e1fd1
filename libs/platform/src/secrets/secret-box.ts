import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

import { AppError } from '../errors/app-error.js';
import { Secret } from './secret.js';

/** The place of a sealed value. The value can be opened only there. */
export interface SecretPlace {
  readonly workspaceId: string;
  readonly table: string;
  /** The row's id. */
  readonly row: string;
  readonly field: string;
}

interface BoxKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

// The layout of a sealed value is version (1) | key id (8) | nonce (12) | tag (16) | ciphertext.
const VERSION = 1;
const ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES + NONCE_BYTES + TAG_BYTES;

/**
 * Encrypts single values for storage: AES-256-GCM (NIST SP 800-38D) with a random nonce; the associated data binds a value to
 * `workspace|table|row|field|keyId`. Keys are derived from the secrets of the installation with HKDF-SHA256 (RFC 5869). The id of a key is
 * derived too, so that a list of secrets needs no numbering. New values are sealed with the first secret; the others can still open values.
 */
export class SecretBox {
  private readonly keys: readonly BoxKey[];

  /** `current` seals and opens; `previous` secrets only open. Null: a box that seals and opens nothing. */
  constructor(current: Secret | null, previous: readonly Secret[] = []) {
    this.keys = (current === null ? [] : [current, ...previous]).map((secret) => toBoxKey(secret));
  }

  seal(value: Secret, place: SecretPlace): Uint8Array<ArrayBuffer> {
    const [boxKey] = this.keys;
    if (boxKey === undefined) throw secretUnreadable();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', boxKey.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(place, boxKey.id));
    const body = Buffer.concat([cipher.update(value.reveal(), 'utf8'), cipher.final()]);
    return new Uint8Array(Buffer.concat([Buffer.of(VERSION), boxKey.id, nonce, cipher.getAuthTag(), body]));
  }

  /** Throws `secret_unreadable` if the value was sealed for another place, was changed, or the box lacks its key. */
  open(sealed: Uint8Array, place: SecretPlace): Secret {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) throw secretUnreadable();
    const id = bytes.subarray(1, 1 + ID_BYTES);
    const boxKey = this.keys.find((candidate) => candidate.id.equals(id));
    if (boxKey === undefined) throw secretUnreadable();
    const nonce = bytes.subarray(1 + ID_BYTES, 1 + ID_BYTES + NONCE_BYTES);
    try {
      const decipher = createDecipheriv('aes-256-gcm', boxKey.key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(associatedData(place, boxKey.id));
      decipher.setAuthTag(bytes.subarray(HEAD_BYTES - TAG_BYTES, HEAD_BYTES));
      return new Secret(
        Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8'),
      );
    } catch (error) {
      throw secretUnreadable(error);
    }
  }

  /** Whether a value should be sealed again because it was sealed with an older secret. */
  isOutdated(sealed: Uint8Array): boolean {
    return !this.keys[0]?.id.equals(Buffer.from(sealed.subarray(1, 1 + ID_BYTES)));
  }
}

function toBoxKey(secret: Secret): BoxKey {
  const derive = (info: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret.reveal(), 'nightshift', info, length));
  return { id: derive('secret-box:key-id', ID_BYTES), key: derive('secret-box:aes-256-gcm', 32) };
}

/** A separator within a part would make two places equal. */
function associatedData(place: SecretPlace, keyId: Buffer): Buffer {
  const parts = [place.workspaceId, place.table, place.row, place.field];
  if (parts.some((part) => part.includes('|'))) throw secretUnreadable();
  return Buffer.from([...parts, keyId.toString('hex')].join('|'), 'utf8');
}

/** A sealed value was moved or changed, or this process lacks its key. */
function secretUnreadable(cause?: unknown): AppError {
  return new AppError({
    code: 'secret_unreadable',
    message:
      'A stored secret cannot be opened. Enter it again, or start with the NIGHTSHIFT_SECRET it was stored under.',
    cause,
  });
}
