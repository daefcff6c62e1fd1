import type { IncomingHttpHeaders } from 'node:http';

import type { Credentials } from '../authentication/authenticator.service.js';

/**
 * The header that names the workspace that a token enters. An API key has one workspace; with another one in the header, the caller gets
 * `not_found`.
 */
export const workspaceHeader = 'x-workspace-id';

/** Reads the caller's credentials from the headers of a request. */
export function credentialsOf(headers: IncomingHttpHeaders): Credentials {
  const workspaceId = headers[workspaceHeader];
  return {
    authorization: headers.authorization,
    workspaceId: typeof workspaceId === 'string' && workspaceId !== '' ? workspaceId : undefined,
  };
}
