import { notABackup } from './backup.errors.js';
import type { PgTools } from './pg-tools.js';
import { runPgTool } from './run-pg-tool.js';

/** The part of a backup's table of contents that a restore needs. */
export interface Archive {
  /** Major version of the server that wrote the backup. */
  readonly serverMajor: number;
  /** The roles that own the objects of the backup. */
  readonly owners: readonly string[];
}

/** Reads the table of contents of a backup. Throws `not_a_backup`. */
export async function readArchive(tools: PgTools, file: string): Promise<Archive> {
  const list = await runPgTool(tools, { tool: 'pg_restore', arguments: ['--list', file] }).catch((error: unknown) => {
    throw notABackup(file, error instanceof Error ? error.message : String(error));
  });
  return toArchive(list, file);
}

/** Parses the output of `pg_restore --list`: comments after `;`, then lines `id; oid oid KIND schema name owner`. Pure. */
export function toArchive(list: string, file: string): Archive {
  const lines = list.split('\n');
  const version = lines.map((line) => /^;\s+Dumped from database version: (\d+)/.exec(line)?.[1]).find(Boolean);
  const entries = lines.filter((line) => line !== '' && !line.startsWith(';'));
  if (version === undefined || !entries.some((line) => / TABLE public _migration /.test(line)))
    throw notABackup(file, 'it has no table of migrations');
  const owners = new Set(entries.map((line) => line.slice(line.lastIndexOf(' ') + 1)).filter((name) => name !== ''));
  return { serverMajor: Number(version), owners: [...owners] };
}
