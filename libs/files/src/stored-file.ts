import { createHash } from 'node:crypto';

/** A file of a workspace. Its content never changes: another content has another hash. */
export interface StoredFile {
  readonly id: string;
  /** SHA-256 of the content, in lower-case hex. */
  readonly hash: string;
  readonly mime: string;
  readonly bytes: number;
  /** The name that its first upload gave it. */
  readonly name: string | null;
  /** The user who uploaded it first, or whose job made it. Null: the system. */
  readonly createdBy: string | null;
  /** Ms since the epoch. */
  readonly createdAt: number;
}

/** A file as a message refers to it. */
export interface FileReference {
  readonly hash: string;
  readonly mime: string;
  readonly name?: string;
}

/** SHA-256 in lower-case hex. */
export function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Whether a text from outside can be the hash of a file at all. */
export function isFileHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

const longestName = 255;

/** The last part of a path, without control characters; null: nothing is left, or it is too long. */
export function toFileName(text: string): string | null {
  const name = (text.split(/[/\\]/).at(-1) ?? '').replaceAll(/\p{C}/gu, '').trim();
  return name === '' || name.length > longestName || name === '.' || name === '..' ? null : name;
}
