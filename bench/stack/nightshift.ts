import { mkdirSync } from 'node:fs';

import { openAuth } from '#auth';
import { Config, createLogger, openPlatform, Redactor } from '#platform';

import { type NightshiftProcess, startProcess } from '../../test/harness/processes.js';
import { BENCH_SECRET, type BenchPostgres } from './bench-postgres.js';
import { benchSettings } from './bench-settings.js';
import { type BenchWorkspace, seedBenchWorkspace } from './bench-workspace.js';

/** Nightshift as it runs in production: real processes, found by url and used with a key. */
export interface Nightshift {
  readonly url: string;
  readonly workspace: BenchWorkspace;
  /** One process in role `all`, else api and worker. */
  readonly processes: readonly NightshiftProcess[];
  close(): Promise<void>;
}

export interface NightshiftShape {
  readonly modelUrl: string;
  readonly roles: readonly ('api' | 'worker' | 'all')[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the processes of `roles` on `postgres` and makes the workspace of the bench. */
export async function startNightshift(postgres: BenchPostgres, shape: NightshiftShape): Promise<Nightshift> {
  const workspace = await createWorkspace(postgres, shape.modelUrl);
  const processes: NightshiftProcess[] = [];
  const close = async () => {
    await Promise.all(processes.map((started) => started.stop()));
  };
  try {
    for (const role of shape.roles) {
      const env = { ...benchSettings(shape.modelUrl), ...shape.env, ...profileOf(role) };
      processes.push(await startProcess({ role, databaseUrl: postgres.urls.owner, secret: BENCH_SECRET, env }));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const url = processes.find((started) => started.url !== null)?.url;
  if (url == null) throw new Error('no process serves the api');
  return { url, workspace, processes, close };
}

/** Creates a tenant and an API key of its owner; `name` distinguishes tenants of one database. */
export async function createWorkspace(
  postgres: BenchPostgres,
  modelUrl: string,
  name?: string,
): Promise<BenchWorkspace> {
  const config = Config.from({ ...benchSettings(modelUrl), ROLE: 'all' });
  const logger = createLogger({ level: 'warn' });
  const { urls } = postgres;
  const platform = await openPlatform({ config, logger, redactor: new Redactor(), urls, secret: BENCH_SECRET });
  try {
    const fetchKeys = () => Promise.reject(new Error('no key set in a bench'));
    const auth = openAuth({ ...platform, secret: BENCH_SECRET, fetchKeys });
    const workspace = await seedBenchWorkspace(postgres, auth, name);
    auth.close();
    return workspace;
  } finally {
    await platform.close();
  }
}

/** BENCH_PROFILE names a folder that gets a CPU profile of each process when it ends. */
function profileOf(role: string): Record<string, string> {
  const folder = process.env['BENCH_PROFILE'];
  if (folder === undefined) return {};
  mkdirSync(folder, { recursive: true });
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${folder}/${role}` };
}
