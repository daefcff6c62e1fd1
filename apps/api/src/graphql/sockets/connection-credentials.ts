import type { IncomingMessage } from 'node:http';

import type { Credentials } from '#auth';
import { credentialsOf } from '#auth/api';

/**
 * The caller's credentials in `connection_init`: `authorization` ("Bearer …") or `apiKey`, and `workspaceId`. Browsers cannot set
 * headers on a WebSocket; other clients may, and the headers of the upgrade apply to every field that the payload leaves out.
 */
export function connectionCredentials(
  params: Readonly<Record<string, unknown>>,
  request: IncomingMessage,
): Credentials {
  const headers = credentialsOf(request.headers);
  const authorization = textOf(params['authorization']) ?? textOf(params['Authorization']);
  const apiKey = textOf(params['apiKey']);
  return {
    authorization: authorization ?? (apiKey === undefined ? headers.authorization : `Bearer ${apiKey}`),
    workspaceId: textOf(params['workspaceId']) ?? headers.workspaceId,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
