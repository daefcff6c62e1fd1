import { type FileReference, hashOf } from '#files';
import type { ChatMessage, ContentPart } from '#models';
import { defined } from '#platform';

/** The content of a data URL in a message, and the reference that replaces it. */
export interface InlineFile {
  readonly hash: string;
  readonly mime: string;
  readonly name: string | null;
  readonly content: Buffer;
}

/** The part of a message that refers to a stored file. */
export function toFilePart({ hash, mime, name }: FileReference): ContentPart {
  return { type: 'file', file: { file_id: hash, mime, ...defined({ filename: name }) } };
}

/** The stored file that a part refers to; null if it refers to none. `mime` is the type that the client declared, if any. */
export function referenceOf(part: ContentPart): { readonly hash: string; readonly mime: string | null } | null {
  if (part.type !== 'file') return null;
  const { file_id: hash, mime } = part.file;
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) return null;
  return { hash, mime: typeof mime === 'string' ? mime : null };
}

/** All parts of messages whose content consists of parts. */
export function partsOf(messages: readonly ChatMessage[]): readonly ContentPart[] {
  return messages.flatMap(({ content }) => (typeof content === 'string' || content === null ? [] : content));
}

/** Replaces the parts of the messages. Returns the same list if no message has parts. Pure. */
export function withParts(
  messages: readonly ChatMessage[],
  change: (part: ContentPart) => ContentPart,
): readonly ChatMessage[] {
  return messages.map((message) =>
    typeof message.content === 'string' || message.content === null
      ? message
      : { ...message, content: message.content.map(change) },
  );
}

/**
 * Replaces data URLs in base64 of these media types by references to their contents. Other URLs stay as they are: the provider fetches them. Pure.
 */
export function takeInlineFiles(
  messages: readonly ChatMessage[],
  types: readonly string[],
): { readonly messages: readonly ChatMessage[]; readonly files: readonly InlineFile[] } {
  const files = new Map<string, InlineFile>();
  const changed = withParts(messages, (part) => {
    const inline = inlineOf(part);
    if (inline === null || !types.includes(inline.mime)) return part;
    const { mime, content, name, detail } = inline;
    const hash = hashOf(content);
    files.set(hash, { hash, mime, name, content });
    return { type: 'file', file: { file_id: hash, mime, ...(name === null ? {} : { filename: name }), ...detail } };
  });
  return { messages: changed, files: [...files.values()] };
}

function inlineOf(part: ContentPart) {
  if (part.type === 'image_url') {
    const { url, detail } = part.image_url;
    const data = readDataUrl(url);
    return data === null ? null : { ...data, name: null, detail: detail === undefined ? {} : { detail } };
  }
  if (part.type !== 'file') return null;
  const { file_data: url, filename } = part.file;
  const data = typeof url === 'string' ? readDataUrl(url) : null;
  return data === null ? null : { ...data, name: typeof filename === 'string' ? filename : null, detail: {} };
}

function readDataUrl(url: string): { readonly mime: string; readonly content: Buffer } | null {
  const [, mime, data] = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;charset=utf-8)?;base64,([A-Za-z0-9+/]+=*)$/i.exec(url) ?? [];
  if (mime === undefined || data === undefined) return null;
  return { mime: mime.toLowerCase(), content: Buffer.from(data, 'base64') };
}
