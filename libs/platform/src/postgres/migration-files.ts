import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One file in Prisma's layout: `<directory>/<name>/migration.sql`. */
export interface MigrationFile {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file, hex. */
  readonly checksum: string;
  /** Checksums of earlier versions of the file with the same resulting schema: `-- replaces: <checksum>`. */
  readonly replaces: readonly string[];
  /**
   * Whether the file runs in one transaction. If its first line is `-- no transaction`, its statements, each of which ends with `;` at the
   * end of a line, run one by one, and all of them again after a failure.
   */
  readonly isTransaction: boolean;
}

/** Returns the migrations in their order: by name, which begins with a timestamp. */
export async function readMigrationFiles(directory: string): Promise<MigrationFile[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      const replaces = [...sql.matchAll(/^-- replaces: ([0-9a-f]{64})$/gm)].map(([, checksum = '']) => checksum);
      const isTransaction = !sql.startsWith('-- no transaction\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex'), replaces, isTransaction };
    }),
  );
}

/** The statements of a migration without a transaction. */
export function statementsOf({ sql }: MigrationFile): string[] {
  return sql
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replaceAll(/^--.*$/gm, '').trim() !== '');
}

/** `prisma/migrations` of this build. The depth of the sources and of the compiled files differs. */
export function ownMigrationsDirectory(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const candidate = join(folder, 'prisma', 'migrations');
    if (existsSync(join(candidate, 'migration_lock.toml'))) return candidate;
    if (folder === dirname(folder)) throw new Error('prisma/migrations is missing from this build');
  }
}
