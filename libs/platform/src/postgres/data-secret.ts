import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Returns the secret in `file` of the data directory (mode 0600), and creates it (256 random bits, base64url) if it is missing. Two processes
 * that create it at the same time get the same one.
 */
async function keptSecret(dataDir: string, file: string): Promise<string> {
  const path = join(dataDir, file);
  const known = await readIfThere(path);
  if (known !== undefined) return known;
  await mkdir(dataDir, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flush: true });
  try {
    await link(draft, path); // fails if the file exists, so a secret is never replaced or partially written
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(draft);
  }
  return (await readFile(path, 'utf8')).trim();
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** The value of NIGHTSHIFT_SECRET for an installation that has not set it: `<dataDir>/secret`. */
export function dataDirSecret(dataDir: string): Promise<string> {
  return keptSecret(dataDir, 'secret');
}

/** The secrets that `rotateDataDirSecret` replaced, newest first: `<dataDir>/previous-secrets`. */
export async function previousDataDirSecrets(dataDir: string): Promise<string[]> {
  const text = await readIfThere(join(dataDir, 'previous-secrets'));
  return (text ?? '').split('\n').filter((line) => line !== '');
}

/**
 * Replaces the secret of the data directory. The old one is first stored among the previous secrets, so that a crash in between loses none.
 * No process may use the directory meanwhile.
 */
export async function rotateDataDirSecret(dataDir: string): Promise<void> {
  const old = await dataDirSecret(dataDir);
  const previous = (await previousDataDirSecrets(dataDir)).filter((one) => one !== old);
  await replaceFile(join(dataDir, 'previous-secrets'), [old, ...previous].join('\n'));
  await replaceFile(join(dataDir, 'secret'), randomBytes(32).toString('base64url'));
}

/** Whether the data directory contains a secret. */
export async function hasDataDirSecret(dataDir: string): Promise<boolean> {
  return (await readIfThere(join(dataDir, 'secret'))) !== undefined;
}

/** Whether the directory contains the data of an embedded Postgres. */
export async function hasEmbeddedData(dataDir: string): Promise<boolean> {
  return (await readIfThere(join(dataDir, 'postgres-password'))) !== undefined;
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${text}\n`, { mode: 0o600, flush: true });
  await rename(draft, path);
}

/** The superuser's password of the embedded Postgres: `<dataDir>/postgres-password`. */
export function embeddedPassword(dataDir: string): Promise<string> {
  return keptSecret(dataDir, 'postgres-password');
}
