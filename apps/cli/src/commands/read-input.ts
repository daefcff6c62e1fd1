import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

import { usageError } from '../cli.errors.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Input } from '../terminal/screen.js';

/** The text of a file; `-` is standard input. */
export async function readInput(file: string, input: Input): Promise<string> {
  if (file === '-') return text(input);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`${file} cannot be read: ${why}`);
  }
}

/** The text of a JSON document. Throws a usage error that names the file when it is none. */
export async function readDocument(file: string, input: Input): Promise<string> {
  const document = await readInput(file, input);
  try {
    JSON.parse(document);
    return document;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`${file === '-' ? 'Standard input' : file} is not JSON: ${oneLine(why)}`);
  }
}
