import { json, type Route, type RouteGroup } from '../route.js';
import type { SchemaName } from '../schemas.js';

const step = (
  name: 'claim' | 'validate' | 'result',
  [summary, body, reply]: readonly [summary: string, body: SchemaName, reply: SchemaName],
): Route => ({
  method: 'post',
  path: `/api/jobs/{id}/client-tool/${name}`,
  operationId: `${name}ClientTool`,
  summary,
  body,
  replies: [json(200, reply, 'Done.')],
  refusals: [400, 401, 403, 404, 409, 413, 501],
});

/** Calls that clients run. */
export const clientToolRoutes: RouteGroup = {
  tag: 'Client tools',
  description: 'Tool calls that clients run. See docs/client-tools.md.',
  errors: 'Error',
  routes: [
    {
      method: 'get',
      path: '/api/jobs/client-tool/capability',
      operationId: 'getClientToolCapability',
      summary: 'Check whether client tools are enabled',
      replies: [json(200, 'ClientToolCapability', 'The decision.')],
      refusals: [401],
    },
    step('claim', ['Take on a call, for 30 s', 'ToolClaim', 'GrantedClaim']),
    step('validate', ['Ask right before running it', 'ToolClaimReference', 'ValidatedClaim']),
    step('result', ['Say what became of it', 'ToolResult', 'AcceptedResult']),
  ],
};
