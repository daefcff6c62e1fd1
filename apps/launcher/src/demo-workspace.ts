import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type Auth, KEY_SCOPES } from '#auth';
import { AppError } from '#platform';

const seed = { email: 'demo@nightshift.local', userName: 'Demo', workspaceName: 'Demo' };

/** The key of the demo workspace's owner. */
export interface DemoKey {
  readonly text: string;
  /** `new`: this start created the key and has not shown it yet. `revoked`: the key stays revoked until its file is deleted. */
  readonly state: 'new' | 'kept' | 'revoked';
  /** The file of the key, which only its owner can read. */
  readonly file: string;
}

/**
 * Ensures that the demo workspace, its owner and a key of the owner exist. The database has only the hash of the key. The key itself is in
 * `<dataDir>/demo-api-key` (mode 0600), so that later starts can run the sample job. Without that file, or if its key belongs to another
 * database, a new key is created, and the old one stays valid until it is revoked. A revoked key is not replaced, because the revocation
 * was a decision.
 */
export async function ensureDemoWorkspace(auth: Auth, dataDir: string): Promise<DemoKey> {
  const { principal } = await auth.seeder.ensure(seed);
  const file = join(dataDir, 'demo-api-key');
  const kept = await keptKey(auth, file);
  if (kept !== undefined) return { ...kept, file };
  const { text } = await auth.apiKeys.create(principal, { name: 'Demo key', scopes: KEY_SCOPES });
  await mkdir(dataDir, { recursive: true });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${text}\n`, { mode: 0o600 });
  await rename(draft, file);
  return { text, state: 'new', file };
}

async function keptKey(auth: Auth, file: string): Promise<Pick<DemoKey, 'text' | 'state'> | undefined> {
  const text = (await readIfThere(file))?.trim();
  if (text === undefined) return undefined;
  try {
    await auth.authenticator.authenticate({ authorization: `Bearer ${text}` });
    return { text, state: 'kept' };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error;
    return (await auth.seeder.isRevoked(text)) ? { text, state: 'revoked' } : undefined;
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
