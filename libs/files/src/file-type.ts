import { isUtf8 } from 'node:buffer';

interface Signature {
  readonly type: string;
  /** The bytes at `offset`, as Latin-1 text. */
  readonly text: string;
  readonly offset?: number;
}

/** The first bytes of files of these types. */
const signatures: readonly Signature[] = [
  { type: 'image/png', text: '\x89PNG\r\n\x1a\n' },
  { type: 'image/jpeg', text: '\xff\xd8\xff' },
  { type: 'image/gif', text: 'GIF87a' },
  { type: 'image/gif', text: 'GIF89a' },
  { type: 'image/webp', text: 'WEBP', offset: 8 },
  { type: 'application/pdf', text: '%PDF-' },
  { type: 'application/zip', text: 'PK\x03\x04' },
  { type: 'application/gzip', text: '\x1f\x8b' },
];
const signed = new Set(signatures.map(({ type }) => type));
/** Formats that are archives of the type zip. */
const zipBased = /^application\/(?:vnd\.openxmlformats-officedocument\.|vnd\.oasis\.opendocument\.|epub\+zip)/;

/** The media type in a `Content-Type`, in lower case and without parameters. */
export function toMediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/**
 * Why a content cannot be of the declared type: a sentence for the caller. Null: it can. A type with a signature must have it, text
 * must be UTF-8 without NUL, and no other type may begin like one with a signature.
 */
export function typeProblem(declared: string, content: Uint8Array): string | null {
  const actual = signedTypeOf(content);
  if (actual === declared || (actual === 'application/zip' && zipBased.test(declared))) return null;
  if (actual !== null) return `The content of the file is ${actual}, but its declared type is ${declared}`;
  if (signed.has(declared)) return `The content of the file is not ${declared}`;
  if (isText(declared) && (!isUtf8(content) || content.includes(0))) return `The file is not UTF-8 text`;
  return null;
}

/** Whether files of a type are text that a model can read as it is. */
export function isText(mime: string): boolean {
  return mime.startsWith('text/') || mime === 'application/json' || mime === 'application/xml';
}

function signedTypeOf(content: Uint8Array): string | null {
  const start = Buffer.from(content.buffer, content.byteOffset, Math.min(content.length, 16)).toString('latin1');
  return signatures.find(({ text, offset = 0 }) => start.startsWith(text, offset))?.type ?? null;
}
