import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { Files, type StoredFile, toFileName } from '#files';
import type { ChatMessage, ContentPart, Model } from '#models';
import { AppError, Config } from '#platform';
import { matchesGlob } from '#tools';

import { partsOf, referenceOf, takeInlineFiles, withParts } from './file-parts.js';

/** Maximum number of files in one request. */
const maxFiles = 100;

/** The files that messages refer to: checked when a job starts, and read when its model is called. */
@Injectable()
export class AttachedFiles {
  constructor(
    private readonly files: Files,
    private readonly config: Config,
  ) {}

  /**
   * Stores the contents of data URLs, and checks that the workspace has every other file. Returns the messages with references in place of
   * contents. Throws `not_found` and `bad_request` with the field `attachments`, `too_large`, and the errors of `Files.save`.
   */
  async accept(
    { workspaceId, userId }: Pick<Principal, 'workspaceId' | 'userId'>,
    given: readonly ChatMessage[],
  ): Promise<readonly ChatMessage[]> {
    if (partsOf(given).every(({ type }) => type === 'text')) return given;
    const { messages, files } = takeInlineFiles(given, this.config.values.FILE_TYPES);
    const references = partsOf(messages).flatMap((part) => referenceOf(part) ?? []);
    const hashes = new Set(references.map(({ hash }) => hash));
    if (hashes.size > maxFiles) throw tooManyFiles();
    for (const { name, ...file } of files)
      await this.files.save({ workspaceId, createdBy: userId, ...file, name: name === null ? null : toFileName(name) });
    const known = new Map((await this.files.use(workspaceId, [...hashes])).map((file) => [file.hash, file]));
    for (const { hash, mime } of references) {
      const file = known.get(hash);
      if (file === undefined) throw unknownFile(hash);
      if (mime !== null && mime !== file.mime && !files.some((inline) => inline.hash === hash))
        throw otherType(hash, file.mime);
    }
    return messages;
  }

  /** Throws `bad_request` if the model of a start takes text only and the messages have images or PDFs. */
  assertReadable(modelName: string, messages: readonly ChatMessage[]): void {
    const visual = partsOf(messages).some((part) => isVisual(referenceOf(part)?.mime ?? ''));
    if (visual && this.isTextOnly(modelName)) throw textOnly(modelName);
  }

  /** Wraps the model: each request contains the contents of files in place of references. */
  readable(
    model: Model,
    { workspaceId, modelName }: { readonly workspaceId: string; readonly modelName: string },
  ): Model {
    const contents = new Map<string, Uint8Array>();
    const { isTextOnly, maxBytes } = {
      isTextOnly: this.isTextOnly(modelName),
      maxBytes: this.config.values.FILE_BYTES_PER_MODEL_REQUEST,
    };
    const load = async (messages: readonly ChatMessage[]) => {
      const hashes = partsOf(messages).flatMap((part) => referenceOf(part)?.hash ?? []);
      const used = await this.files.use(workspaceId, [...new Set(hashes)]);
      const files = new Map(used.map((file) => [file.hash, file]));
      const sent = filesToSend(messages, files, { maxBytes, isTextOnly });
      // Every round of a job sends the same files, so they stay in memory, within the limit of one request.
      for (const hash of contents.keys()) if (!sent.has(hash)) contents.delete(hash);
      for (const file of used)
        if (sent.has(file.hash) && !contents.has(file.hash)) contents.set(file.hash, await this.files.read(file));
      return toReadable(messages, files, contents);
    };
    return {
      async *stream(request, signal) {
        const hasFiles = partsOf(request.messages).some((part) => referenceOf(part) !== null);
        yield* model.stream(hasFiles ? { ...request, messages: await load(request.messages) } : request, signal);
      },
    };
  }

  private isTextOnly(modelName: string): boolean {
    return this.config.values.TEXT_ONLY_MODELS.some((pattern) => matchesGlob(pattern, modelName));
  }
}

const unknownFile = (hash: string) =>
  new AppError({
    code: 'not_found',
    message: `The workspace has no file ${hash}. Upload it first (POST /api/files)`,
    field: 'attachments',
  });

const otherType = (hash: string, mime: string) =>
  new AppError({ code: 'bad_request', message: `The file ${hash} has the type ${mime}`, field: 'attachments' });

const tooManyFiles = () =>
  new AppError({ code: 'too_large', message: `messages refer to more than ${maxFiles} files`, field: 'attachments' });

const textOnly = (modelName: string) =>
  new AppError({
    code: 'bad_request',
    message: `The model "${modelName}" takes text only (TEXT_ONLY_MODELS). Choose another model for images and PDFs`,
    field: 'attachments',
  });

/** Limits of the files that a model reads. */
interface ReadableLimits {
  /** Maximum bytes of files in one request. */
  readonly maxBytes: number;
  /** The model takes neither images nor PDFs. */
  readonly isTextOnly: boolean;
}

/** Whether a model can read a file of this type as text. */
function isTextFile(mime: string): boolean {
  return mime.startsWith('text/') || mime === 'application/json';
}

/** Whether a model must support images or PDFs to read a file of this type. */
function isVisual(mime: string): boolean {
  return mime.startsWith('image/') || mime === 'application/pdf';
}

/** The files to send, by hash: the newest that fit together, each counted as often as the messages refer to it. Pure. */
export function filesToSend(
  messages: readonly ChatMessage[],
  files: ReadonlyMap<string, StoredFile>,
  { maxBytes, isTextOnly }: ReadableLimits,
): ReadonlySet<string> {
  const counts = new Map<string, number>();
  // A map keeps the position of the first insertion, so the newest use is inserted first.
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
