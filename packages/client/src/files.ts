import { asking, type Connection } from './connection.js';
import { toHttpError } from './http-transport.js';
import { NightshiftError } from './nightshift-error.js';
import type { WaitOptions } from './wait-options.js';

/** A file of the workspace. It can be used as an entry of `attachments`. */
export interface UploadedFile {
  /** SHA-256 of the content, in lower-case hex. */
  readonly hash: string;
  /** Its media type. */
  readonly mime: string;
  /** In bytes. */
  readonly size: number;
  /** The name of its first upload. */
  readonly name: string | null;
}

/** Content without a media type. A stream is read into memory, because the client sends it again after a lost connection. */
export type FileContent = Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface UploadOptions extends WaitOptions {
  /** The media type. Default: that of the blob. */
  readonly mime?: string | undefined;
  /** Default: the name of the blob, if it is a `File`. */
  readonly name?: string | undefined;
  /** Maximum bytes of the content; larger content is not sent. Default: 10 MiB for streams, else the limit of the server. */
  readonly maxBytes?: number | undefined;
}

export interface TypedUploadOptions extends UploadOptions {
  readonly mime: string;
}

export interface DownloadOptions extends WaitOptions {
  /** Maximum bytes to receive into memory. 100 MiB by default. */
  readonly maxBytes?: number | undefined;
}

const MEBIBYTE = 1_048_576;

/** The files of the workspace. */
export class Files {
  constructor(private readonly connection: Connection) {}

  /**
   * Stores content; the same content is stored once. The client sends it again after a lost connection. Throws `too_large`,
   * `unsupported_media_type`, `limit_reached` (the workspace is full), `bad_request` (the content is empty, or the name is invalid),
   * `unavailable`.
   */
  upload(content: Blob, options?: UploadOptions): Promise<UploadedFile>;
  upload(content: FileContent, options: TypedUploadOptions): Promise<UploadedFile>;
  async upload(content: Blob | FileContent, options: UploadOptions = {}): Promise<UploadedFile> {
    const { mime = content instanceof Blob ? content.type : '', name = nameOf(content), signal } = options;
    const body = await toBlob(content, options);
    const path = `api/files${name === undefined ? '' : `?name=${encodeURIComponent(name)}`}`;
    const headers = { 'content-type': mime };
    const read = async (response: Response) => toUploaded(response, await response.text());
    const { transferMs: timeoutMs } = this.connection;
    return this.connection.http.send(
      { path, method: 'POST', headers, body, timeoutMs, read },
      asking(this.connection, signal),
    );
  }

  /** The content of a file; `type` of the blob is its media type. Throws `not_found`, `too_large` (larger than `maxBytes`), `unavailable`. */
  async download(hash: string, { maxBytes = 100 * MEBIBYTE, signal }: DownloadOptions = {}): Promise<Blob> {
    const path = `api/files/${encodeURIComponent(hash)}`;
    const read = async (response: Response) => {
      if (response.status !== 200) throw toHttpError(response, await response.text());
      const [type = ''] = (response.headers.get('content-type') ?? '').split(';', 1);
      return new Blob(await collect(response.body ?? [], maxBytes), { type });
    };
    const { transferMs: timeoutMs } = this.connection;
    return this.connection.http.send({ path, method: 'GET', timeoutMs, read }, asking(this.connection, signal));
  }
}

/** Converts `attachments` to the input of the server, which has no `size`. */
export function toAttachments<Entry extends object>(given: readonly Entry[]): Entry[] {
  const withoutSize = (entry: Entry) => Object.entries(entry).filter(([name]) => name !== 'size');
  return given.map((entry) => Object.fromEntries(withoutSize(entry)) as Entry); // no entry of an input has a size
}

function nameOf(content: Blob | FileContent): string | undefined {
  return 'name' in content && typeof content.name === 'string' && content.name !== '' ? content.name : undefined;
}

async function toBlob(content: Blob | FileContent, { maxBytes }: UploadOptions): Promise<Blob> {
  if (!(content instanceof Blob || content instanceof Uint8Array))
    return new Blob(await collect(content, maxBytes ?? 10 * MEBIBYTE));
  const blob = content instanceof Blob ? content : new Blob([bytesOf(content)]);
  if (maxBytes !== undefined && blob.size > maxBytes) throw tooLarge(maxBytes);
  return blob;
}

/** Reads a stream into memory. If it exceeds `maxBytes`, throws and cancels the stream. */
async function collect(
  content: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const piece of content instanceof ReadableStream ? piecesOf(content) : content) {
    length += piece.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    pieces.push(bytesOf(piece));
  }
  return pieces;
}

/** Some browsers cannot iterate over streams. */
async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

/** Copies the bytes: a `Blob` does not accept shared memory. */
function bytesOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

function tooLarge(maxBytes: number): NightshiftError {
  return new NightshiftError(`The file has more than ${maxBytes} bytes (maxBytes)`, { code: 'too_large' });
}

function toUploaded(response: Response, text: string): UploadedFile {
  if (response.status !== 201) throw toHttpError(response, text);
  const { hash, mime, bytes, name } = JSON.parse(text) as Omit<UploadedFile, 'size'> & { readonly bytes: number };
  return { hash, mime, size: bytes, name };
}
