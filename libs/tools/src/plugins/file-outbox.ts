import type { FileReference, NewFile } from '@nightshift/plugin';

import { hashOf } from '#files';
import { AppError } from '#platform';

import { toFileContent } from './file-content.js';

/** A file in the response to a call; `data` in base64. */
export interface SentFile {
  readonly name: string;
  readonly mime: string;
  readonly data: string;
}

/** For all files of one response together: the process that applies responses has many responses in memory. */
const maxBytes = 4_194_304;

/** Collects the artifacts of one call in a process that cannot store files. The response carries them to a process that can. */
export class FileOutbox {
  readonly files: SentFile[] = [];
  private bytes = 0;

  /** `assertStorable` throws if no process would store the content. */
  constructor(private readonly assertStorable: (mime: string, content: Uint8Array) => void) {}

  /** Rejects with the codes `bad_request`, `unsupported_media_type` and `too_large`. */
  async put(file: NewFile): Promise<FileReference> {
    const { name, mime, content } = toFileContent(file);
    this.assertStorable(mime, content);
    if (this.bytes + content.length > maxBytes) throw tooLarge();
    this.bytes += content.length;
    this.files.push({ name, mime, data: Buffer.from(content).toString('base64') });
    return Promise.resolve({ hash: hashOf(content), mime, name, bytes: content.length });
  }
}

function tooLarge(): AppError {
  const message = `The artifacts of a call in a process of role tools can have at most ${maxBytes} bytes together. Run the tool with isolation "worker"`;
  return new AppError({ code: 'too_large', message });
}
