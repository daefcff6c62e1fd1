import { MeDocument } from '@nightshift/client/operations';

import type { Context } from '../context.js';
import { formatAge } from '../format/duration.js';
import { jobListDocument, modelProvidersDocument } from '../operations.js';
import type { Check } from './check.js';

/** The scopes that a person at a terminal needs. */
const wanted = ['READ', 'WRITE', 'APPROVE'] as const;

/** The role and the scopes of the credential. */
export async function checkAccess(context: Context): Promise<Check> {
  const { me } = await (await context.client()).query(MeDocument, {});
  const role = me.role === null ? 'no workspace' : me.role.toLowerCase();
  const scopes = me.scopes.map((scope) => scope.toLowerCase()).join(', ');
  const detail = `${role}${scopes === '' ? '' : `, may ${scopes}`}`;
  if (me.workspaceId === null) {
    return {
      name: 'access',
      state: 'warning',
      detail,
      remedy: `Name a workspace with --workspace or NIGHTSHIFT_WORKSPACE. List yours: ${context.command('workspaces list')}`,
    };
  }
  const missing = wanted.filter((scope) => !me.scopes.includes(scope));
  if (missing.length === 0) return { name: 'access', state: 'ok', detail };
  const remedy = `The scopes ${missing.map((scope) => scope.toLowerCase()).join(', ')} are missing. Create a key that has them: ${context.command('keys create NAME --scopes read,write,approve')}`;
  return { name: 'access', state: 'warning', detail, remedy };
}

/** A job that has been queued for longer than this should have been taken. */
const TIMEOUT_MS = 15_000;

/** Whether a worker claims jobs: no job has been queued for long while none runs. */
export async function checkQueue(context: Context): Promise<Check> {
  const client = await context.client();
  const listed = async (status: string) => {
    const { jobs } = await client.query(jobListDocument, {
      filter: { status: { eq: status } },
      first: 100,
      after: undefined,
    });
    return jobs.nodes;
  };
  const [queued, running] = await Promise.all([listed('QUEUED'), listed('RUNNING')]);
  const oldest = queued.map(({ createdAt }) => Date.parse(createdAt)).sort((a, b) => a - b)[0];
  const detail = `${queued.length} queued, ${running.length} running, of the jobs that you may see`;
  if (oldest === undefined || Date.now() - oldest < TIMEOUT_MS || running.length > 0)
    return { name: 'queue', state: 'ok', detail };
  return {
    name: 'queue',
    state: 'failed',
    detail: `${detail}; the oldest was queued ${formatAge(new Date(oldest), Date.now())}`,
    remedy: 'Check that a worker runs: `npm start` includes one, `npm start -- --role worker` starts another.',
  };
}

/** The model of a job that names none. Only a job shows whether it responds (`isAsked`: a job follows). */
export async function checkModel(context: Context, { isAsked }: { readonly isAsked: boolean }): Promise<Check> {
  const { workspace } = await (await context.client()).query(modelProvidersDocument, {});
  const providers = workspace?.modelProviders ?? [];
  const chosen = providers.find(({ isDefault }) => isDefault) ?? providers[0];
  const model =
    chosen === undefined
      ? "the server's own, since the workspace has set no provider"
      : `${chosen.defaultModel} of ${chosen.name} (${new URL(chosen.baseUrl).host})`;
  return isAsked
    ? { name: 'model', state: 'ok', detail: model }
    : {
        name: 'model',
        state: 'unknown',
        detail: model,
        remedy: `The model was not tested. Run a job with it: ${context.command('doctor --job')}`,
      };
}
