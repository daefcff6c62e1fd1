import type { IncomingHttpHeaders } from 'node:http';

import type { Credentials } from '../authenticator.service.js';

/** Which of a user's workspaces a token enters. API keys bring their own; sending another one is `not_found`. */
export const workspaceHeader = 'x-workspace-id';

/** What a request's headers say about who asks. */
export function credentialsOf(headers: IncomingHttpHeaders): Credentials {
  const workspaceId = headers[workspaceHeader];
  return {
    authorization: headers.authorization,
    workspaceId: typeof workspaceId === 'string' && workspaceId !== '' ? workspaceId : undefined,
  };
}
