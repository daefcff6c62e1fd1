import { execFile } from 'node:child_process';
import { readdir, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

import type { ServerVersion } from '../server-version.js';
import { pgToolsMissing } from './backup.errors.js';

const run = promisify(execFile);

/** The programs pg_dump and pg_restore of one version. */
export interface PgTools {
  readonly folder: string;
  readonly major: number;
  /** For example `18.6`. */
  readonly version: string;
}

/**
 * The folders in which packages install the programs of one version, besides PATH: a folder, the pattern of its entries, and the subfolder.
 */
const usualPlaces: readonly (readonly [folder: string, entry: RegExp, below: string])[] = [
  ['/usr/lib/postgresql', /^\d+$/, 'bin'], // Debian, Ubuntu
  ['/usr', /^pgsql-\d+$/, 'bin'], // Red Hat
  ['/opt/homebrew/opt', /^(postgresql|libpq)(@\d+)?$/, 'bin'],
  ['/usr/local/opt', /^(postgresql|libpq)(@\d+)?$/, 'bin'],
  ['/Applications/Postgres.app/Contents/Versions', /^\d+$/, 'bin'],
];

/**
 * Finds the client programs for a server: of its own version, or else of the closest newer one, because pg_dump rejects a newer server and
 * pg_restore writes settings that an older server does not know. `path` is the variable PATH. Throws `pg_tools_missing`.
 */
export async function findPgTools(server: ServerVersion, path: string): Promise<PgTools> {
  const folders = [...path.split(delimiter).filter((folder) => folder !== ''), ...(await usualFolders())];
  const known = new Map<string, PgTools>();
  for (const folder of folders) {
    const real = await realpath(folder).catch(() => null);
    if (real === null || known.has(real)) continue;
    const tools = await toolsIn(folder);
    if (tools !== null) known.set(real, tools);
  }
  const fitting = [...known.values()].filter(({ major }) => major >= server.major);
  const [best] = fitting.toSorted((a, b) => a.major - b.major);
  if (best !== undefined) return best;
  const found = [...known.values()].map(({ version, folder }) => `${version} in ${folder}`);
  throw pgToolsMissing(server.text, server.major, found);
}

async function usualFolders(): Promise<string[]> {
  const found = await Promise.all(
    usualPlaces.map(async ([folder, entry, below]) => {
      const names = await readdir(folder).catch(() => []);
      return names.filter((name) => entry.test(name)).map((name) => join(folder, name, below));
    }),
  );
  return found.flat();
}

async function toolsIn(folder: string): Promise<PgTools | null> {
  const [dump, restore] = await Promise.all(['pg_dump', 'pg_restore'].map((name) => versionOf(join(folder, name))));
  if (dump == null || restore == null || dump !== restore) return null;
  return { folder, version: dump, major: Number.parseInt(dump, 10) };
}

/** Debian's /usr/bin has a wrapper that fails if no version is installed. */
async function versionOf(program: string): Promise<string | null> {
  try {
    const { stdout } = await run(program, ['--version']);
    return /\(PostgreSQL\) (\d+[.\w]*)/.exec(stdout)?.[1] ?? null;
  } catch {
    return null;
  }
}
