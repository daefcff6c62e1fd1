import type { StoredFile } from '#files';
import type { ChatMessage, ContentPart } from '#models';

import { partsOf, referenceOf, withParts } from './file-parts.js';

/** Limits of the files that a model reads. */
export interface ReadableLimits {
  /** Bytes of files in one request. */
  readonly maxBytes: number;
  /** The model takes neither images nor PDFs. */
  readonly isTextOnly: boolean;
}

/** Whether a model reads a file of this type as text. */
export function isTextFile(mime: string): boolean {
  return mime.startsWith('text/') || mime === 'application/json';
}

/** Whether a model has to take images or PDFs to read it. */
export function isVisual(mime: string): boolean {
  return mime.startsWith('image/') || mime === 'application/pdf';
}

/** The files to send, by hash: the newest that fit together, each counted as often as the messages refer to it. Pure. */
export function filesToSend(
  messages: readonly ChatMessage[],
  files: ReadonlyMap<string, StoredFile>,
  { maxBytes, isTextOnly }: ReadableLimits,
): ReadonlySet<string> {
  const counts = new Map<string, number>();
  // A map keeps the position of the first insertion, and the newest use is inserted first.
  for (const part of partsOf(messages).toReversed()) {
    const { hash } = referenceOf(part) ?? {};
    if (hash !== undefined) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  const sent = new Set<string>();
  let left = maxBytes;
  for (const [hash, count] of counts) {
    const file = files.get(hash);
    if (file === undefined || file.bytes * count > left) continue;
    if (!isTextFile(file.mime) && (isTextOnly || !isVisual(file.mime))) continue;
    left -= file.bytes * count;
    sent.add(hash);
  }
  return sent;
}

/** Replaces references by what the model reads: the content, or a note with the reason why it is missing. Pure. */
export function toReadable(
  messages: readonly ChatMessage[],
  files: ReadonlyMap<string, StoredFile>,
  contents: ReadonlyMap<string, Uint8Array>,
): readonly ChatMessage[] {
  return withParts(messages, (part) => {
    const reference = referenceOf(part);
    if (reference === null || part.type !== 'file') return part;
    const file = files.get(reference.hash);
    const given = part.file['filename'];
    const name = typeof given === 'string' ? given : (file?.name ?? 'unnamed');
    if (file === undefined) return note(`The file "${name}" was removed.`);
    const content = contents.get(reference.hash);
    if (content === undefined)
      return note(`The file "${name}" (${file.mime}, ${file.bytes} bytes) is not part of this request.`);
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    if (isTextFile(file.mime)) return { type: 'text', text: `File "${name}":\n${bytes.toString('utf8')}` };
    const url = `data:${file.mime};base64,${bytes.toString('base64')}`;
    if (file.mime === 'application/pdf') return { type: 'file', file: { filename: name, file_data: url } };
    const detail = part.file['detail'];
    return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
  });
}

function note(text: string): ContentPart {
  return { type: 'text', text: `[${text}]` };
}
