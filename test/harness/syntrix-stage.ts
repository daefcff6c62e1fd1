import {
  type ServerTrigger,
  SyntrixServer,
  type SyntrixServerOptions,
} from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import type { TestApi } from './api.js';
import { ask } from './graphql.js';

export const signingSecret = 'the secret of the deliveries';

/** The three triggers of the worker's specification, for the endpoints of a server. */
export function workerTriggers(url: string, connection = ''): readonly ServerTrigger[] {
  const base = `${url}/webhook${connection}`;
  const chats = 'users/*/orch-chats/*';
  return [
    {
      ...{ triggerId: 'on-user-message', collection: `${chats}/messages`, events: ['create'], url: `${base}/llm` },
      condition: ({ role }) => role === 'user',
    },
    {
      ...{ triggerId: 'on-tool-pending', collection: `${chats}/toolcall`, events: ['create'], url: `${base}/tool` },
      condition: ({ status }) => status === 'pending',
    },
    {
      ...{ triggerId: 'on-tool-success', collection: `${chats}/toolcall`, events: ['update'], url: `${base}/llm` },
      condition: ({ status }) => status === 'success',
    },
  ];
}

/** A server of the Syntrix protocol that signs its deliveries. */
export function startSyntrix(options: SyntrixServerOptions = {}): Promise<SyntrixServer> {
  return SyntrixServer.start({ secret: signingSecret, timeoutMs: 60_000, ...options });
}

/** Sets the signing secret of the workspace and saves the connection `default` of the server. */
export async function connect(
  api: Pick<TestApi, 'url'>,
  server: SyntrixServer,
  { key, ...settings }: { readonly key: string; readonly [setting: string]: unknown },
): Promise<void> {
  const run = async (query: string, input: object) => {
    const { errors, data } = await ask(api, query, { key, variables: { input } });
    const problems = Object.values(data ?? {}).flatMap(({ userErrors }: { userErrors: unknown[] }) => userErrors);
    if (errors.length > 0 || problems.length > 0) throw new Error(JSON.stringify({ errors, problems }));
  };
  await run(
    'mutation($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }',
    {
      ...{ name: 'SYNTRIX_SECRET', value: signingSecret },
    },
  );
  await run(
    'mutation($input: SaveSyntrixConnectionInput!) { saveSyntrixConnection(input: $input) { userErrors { message } } }',
    { name: 'default', baseUrl: server.url, secret: 'SYNTRIX_SECRET', ...settings },
  );
}
