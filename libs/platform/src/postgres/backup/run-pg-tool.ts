import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { pgToolFailed } from './backup.errors.js';
import type { PgTools } from './pg-tools.js';

const ERROR_TAIL = 2_000;

/** The arguments of a Postgres program. */
export interface PgCommand {
  readonly tool: 'pg_dump' | 'pg_restore';
  readonly arguments: readonly string[];
  /** The database; absent if the program needs none. */
  readonly databaseUrl?: string;
}

/** Runs the program and returns its output. Other users of the machine cannot see the password. Throws `pg_tool_failed`. */
export async function runPgTool(tools: PgTools, { tool, arguments: words, databaseUrl }: PgCommand): Promise<string> {
  const target = databaseUrl === undefined ? null : withoutPassword(databaseUrl);
  const child = spawn(join(tools.folder, tool), [...words, ...(target === null ? [] : [`--dbname=${target.url}`])], {
    env: { LC_ALL: 'C.UTF-8', PATH: tools.folder, ...(target === null ? {} : { PGPASSWORD: target.password }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-ERROR_TAIL)));
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      errors += error.message;
      resolve(null);
    });
    child.once('close', resolve);
  });
  if (code !== 0) throw pgToolFailed(tool, errors.trim() === '' ? `exit code ${code ?? 'none'}` : errors.trim());
  return output;
}

function withoutPassword(databaseUrl: string): { readonly url: string; readonly password: string } {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = '';
  return { url: url.toString(), password };
}
