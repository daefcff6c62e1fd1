import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

import { usageError } from '../cli.errors.js';
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
