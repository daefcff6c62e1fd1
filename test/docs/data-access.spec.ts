import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

/** Files of libs and apps with this ending, and their text. */
function sourcesOf(ending: string): (readonly [file: string, source: string])[] {
  return ['libs', 'apps']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => file.endsWith(ending) && !file.includes('node_modules'))
    .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
}

/** Repositories that take the driver's pools, or whose text runs in the statement of another one. The client of a `LockedJob` is Prisma's. */
function driverRepositories(): string[] {
  return sourcesOf('.repository.ts').flatMap(([file, source]) =>
    /\bpostgres: Postgres\b/.test(source) || !/prisma|\bLockedJob\b/i.test(source) ? [file] : [],
  );
}

it('ARCHITECTURE lists exactly the repositories that use node-postgres', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const section = text.split('\n## ').find((part) => part.startsWith('Reach Postgres')) ?? '';
  const listed = [...section.matchAll(/`([^`]+\.repository\.ts)`/g)].map(([, path = '']) => path);
  const files = driverRepositories();
  const isOf = (file: string, path: string) => file === path || file.endsWith(`/${path}`);
  expect(files.filter((file) => !listed.some((path) => isOf(file, path)))).toEqual([]);
  expect(listed.filter((path) => files.filter((file) => isOf(file, path)).length !== 1)).toEqual([]);
});

it('*.part.ts files use no database client', () => {
  const parts = sourcesOf('.part.ts');
  expect(parts.length).toBeGreaterThan(0);
  expect(parts.flatMap(([file, source]) => (/\b(Postgres|PrismaService|Prisma)\b/.test(source) ? [file] : []))).toEqual(
    [],
  );
});
