import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startProcess } from './processes.js';

/** A whole Nightshift in a folder of its own, for the command line. */
export interface CliServer {
  readonly url: string;
  readonly key: string;
  /** The folder; for files of the test as well. */
  readonly folder: string;
  /** How the command line finds the server. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts it on a free port, demo workspace and demo model included. Settings of the working copy (`.env`) do not reach it. */
export async function startCliServer(env: Readonly<Record<string, string>> = {}): Promise<CliServer> {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-cli-'));
  const dataDir = join(folder, 'data');
  const server = await startProcess({ role: 'all', flags: ['--data-dir', dataDir], cwd: folder, env });
  const key = readFileSync(join(dataDir, 'demo-api-key'), 'utf8').trim();
  const url = server.url ?? '';
  return {
    ...{ url, key, folder },
    env: { NIGHTSHIFT_URL: url, NIGHTSHIFT_KEY: key },
    close: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
