import { parseArgs } from 'node:util';

import { UsageError } from '../arguments.js';

/** Parsed arguments of `nightshift backup` and `nightshift restore`. */
export interface BackupArguments {
  readonly command: 'backup' | 'restore';
  readonly file: string;
  readonly dataDir?: string;
  /** Restore: delete the installation that is there. */
  readonly replace: boolean;
  /** The result as a line of JSON. */
  readonly json: boolean;
}

/** Reads the words after the program's name. Throws `UsageError`. */
export function parseBackupArguments(words: readonly string[]): BackupArguments {
  const { values, positionals } = read(words);
  const [command, file, ...rest] = positionals;
  if (command !== 'backup' && command !== 'restore') throw new UsageError('Use backup FILE or restore FILE.');
  if (file === undefined || file === '' || rest.length > 0) throw new UsageError(`${command} takes one file.`);
  const { 'data-dir': dataDir, replace = false, json = false } = values;
  if (replace && command === 'backup') throw new UsageError('--replace works with restore only.');
  return { command, file, replace, json, ...(dataDir === undefined ? {} : { dataDir }) };
}

function read(words: readonly string[]) {
  const options = { 'data-dir': { type: 'string' }, replace: { type: 'boolean' }, json: { type: 'boolean' } } as const;
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
