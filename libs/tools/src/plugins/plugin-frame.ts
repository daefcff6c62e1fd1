import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A module in a stack. The URLs of the modules of plugins contain the version of the plugin (`versionOf`), except those of CommonJS. */
const FRAME = /(file:\/\/\S+?)(\?plugin=[0-9a-f]{16})?:(\d+)/g;
/** The first line of the stack of a syntax error in TypeScript. */
const SYNTAX = /^(.+):(\d+)\n/;

/**
 * Where the code of a plugin threw an error: the file and the line, as `/srv/plugins/acme.ts:3`. `entry` is the file of the plugin. Null: the
 * stack does not contain its code. Pure.
 */
export function pluginFrame(error: unknown, entry: string): string | null {
  const stack: unknown = error instanceof Error ? error.stack : undefined;
  if (typeof stack !== 'string') return null;
  const [, file = '', fileLine = ''] = SYNTAX.exec(stack) ?? [];
  if (isAbsolute(file)) return `${file}:${fileLine}`;
  for (const [, url = '', version, line = ''] of stack.matchAll(FRAME)) {
    const path = toPath(url);
    if (version !== undefined || path === entry) return `${path}:${line}`;
  }
  return null;
}

/** The stack begins with the message of the error, which may contain any URL. Null: it is the URL of no file. */
function toPath(url: string): string | null {
  try {
    return fileURLToPath(url);
  } catch {
    return null;
  }
}
