import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A module of a plugin in a stack: the URLs of its modules contain the version of the plugin (`versionOf`). */
const FRAME = /(file:\/\/\S+?)\?plugin=[0-9a-f]{16}:(\d+)/;
/** The first line of the stack of a syntax error in TypeScript. */
const SYNTAX = /^(.+):(\d+)\n/;

/** Where the code of a plugin threw an error: the file and the line, as `/srv/plugins/acme.ts:3`. Null: the stack does not contain it. Pure. */
export function pluginFrame(error: unknown): string | null {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const [, file = '', fileLine = ''] = SYNTAX.exec(stack) ?? [];
  if (isAbsolute(file)) return `${file}:${fileLine}`;
  const [, url, line = ''] = FRAME.exec(stack) ?? [];
  return url === undefined ? null : `${fileURLToPath(url)}:${line}`;
}
