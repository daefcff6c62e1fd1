import { type Auth, KEY_SCOPES, type UserPrincipal } from '#auth';

import type { BenchPostgres } from './bench-postgres.js';

/** A workspace with wide caps, its owner, and a key of the owner. */
export interface BenchWorkspace {
  readonly principal: UserPrincipal;
  readonly apiKey: string;
}

/** Creates the workspace through the launcher's service. SQL raises its caps only. Another `name` creates another tenant. */
export async function seedBenchWorkspace(postgres: BenchPostgres, auth: Auth, name = 'Bench'): Promise<BenchWorkspace> {
  const seed = { email: `${name.toLowerCase()}@nightshift.local`, userName: name, workspaceName: name };
  const { principal } = await auth.seeder.ensure(seed);
  await postgres.admin.query('UPDATE workspace SET max_jobs = 100000, max_jobs_per_user = 100000 WHERE id = $1', [
    principal.workspaceId,
  ]);
  const { text } = await auth.apiKeys.create(principal, { name: 'Bench', scopes: KEY_SCOPES });
  return { principal, apiKey: text };
}
