import type { NewFile } from '@nightshift/plugin';

import { toFileName } from '#files';
import { AppError } from '#platform';

/** A file that plugin code returned or stores, after validation. */
interface FileContent {
  readonly name: string;
  readonly mime: string;
  readonly content: Uint8Array;
}

/** Validates the values, which in plugin code may have any type. Throws `bad_request`. */
export function toFileContent({ name: given, mime, data }: NewFile): FileContent {
  const name = typeof given === 'string' ? toFileName(given) : null;
  if (name === null) throw invalid('name must be a file name of 1 to 255 characters');
  if (typeof mime !== 'string') throw invalid('mime must be a media type');
  const content = typeof data === 'string' ? Buffer.from(data) : data;
  if (!(content instanceof Uint8Array)) throw invalid('data must be a Uint8Array or a text');
  return { name, mime: mime.toLowerCase(), content };
}

function invalid(problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `The file cannot be stored: ${problem}` });
}
