import { z } from 'zod';

import type { Route, RouteGroup, RouteReply } from './route.js';
import { clientToolRoutes } from './routes/client-tools.routes.js';
import { interruptRoutes } from './routes/interrupts.routes.js';
import { jobRoutes } from './routes/jobs.routes.js';
import { notificationRoutes } from './routes/notifications.routes.js';
import { openAiRoutes } from './routes/openai.routes.js';
import { graphqlRoutes, operationRoutes } from './routes/operations.routes.js';
import { toolRoutes } from './routes/tools.routes.js';
import { workflowRoutes } from './routes/workflows.routes.js';
import { schemas } from './schemas.js';

const groups: readonly RouteGroup[] = [
  ...[openAiRoutes, jobRoutes, clientToolRoutes, interruptRoutes, notificationRoutes, workflowRoutes, toolRoutes],
  ...[graphqlRoutes, operationRoutes],
];

/** An OpenAPI 3.1 document, as far as others look into it. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly [member: string]: unknown;
}

/** The REST endpoints as an OpenAPI document. The same at each call. */
export function toDocument(): OpenApiDocument {
  const paths: Record<string, Record<string, { readonly operationId: string }>> = {};
  for (const group of groups)
    for (const route of group.routes) (paths[route.path] ??= {})[route.method] = toOperation(group, route);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Nightshift',
      version: '1',
      description: 'Conversations and workflows with tools, in the background: durable, resumable, multi-tenant.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: groups.map(({ tag, description }) => ({ name: tag, description })),
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          ...{ type: 'http', scheme: 'bearer' },
          description:
            'An API key of a workspace; outside of /v1 also a token (JWT) of a person, with `X-Workspace-Id`.',
        },
      },
      responses: Object.fromEntries(Object.entries(refusals).flatMap(([status, text]) => toRefusals(status, text))),
      schemas: toSchemas(),
    },
  };
}

/** What a status means, whichever route answers so. */
const refusals: Readonly<Record<number, string>> = {
  400: 'The request is invalid.',
  401: 'The credential is missing or invalid.',
  403: 'The credential does not allow this.',
  404: 'Not found, or not visible to this credential.',
  409: 'The request conflicts with the current state.',
  410: 'The request expired.',
  413: 'The request is too large.',
  422: 'The request is well-formed but cannot be processed.',
  429: 'Too many requests. Retry after `Retry-After`.',
  500: 'Internal error.',
  501: 'The feature is disabled on this server.',
  503: 'The server is busy. Retry after `Retry-After`.',
  504: 'The response took too long. The job continues in the background.',
};

function toRefusals(status: string, description: string) {
  return (['Error', 'OpenAiError'] as const).map(
    (schema) => [`${schema}${status}`, { description, ...toContent({ schema }) }] as const,
  );
}

function toOperation({ tag, errors }: RouteGroup, route: Route) {
  const { operationId, summary, description, parameters = [], body, isPublic, replies } = route;
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }));
  const asked = parameters.map(({ schema = { type: 'string' }, ...parameter }) => ({ ...parameter, schema }));
  return {
    tags: [tag],
    ...{ operationId, summary },
    ...(description === undefined ? {} : { description }),
    ...(isPublic === true ? { security: [] } : {}),
    ...(inPath.length + asked.length === 0 ? {} : { parameters: [...inPath, ...asked] }),
    ...(body === undefined ? {} : { requestBody: { required: true, ...toContent({ schema: body }) } }),
    responses: {
      ...Object.fromEntries(replies.map((reply) => [reply.status, toReply(reply)])),
      ...Object.fromEntries(
        route.refusals.map((status) => [status, { $ref: `#/components/responses/${errors}${status}` }]),
      ),
    },
  };
}

function toReply(reply: RouteReply) {
  return { description: reply.description, ...toContent(reply) };
}

function toContent({ schema, media = {} }: Pick<RouteReply, 'schema' | 'media'>) {
  const others = Object.entries(media).map(([type, description]) => [
    type,
    { schema: { type: 'string', description } },
  ]);
  const json =
    schema === undefined ? [] : [['application/json', { schema: { $ref: `#/components/schemas/${schema}` } }]];
  const content = [...json, ...others];
  return content.length === 0 ? {} : { content: Object.fromEntries(content) as object };
}

/** Each under its name; where one holds another, it refers to it. */
function toSchemas(): Readonly<Record<string, unknown>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const { schemas: written } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    io: 'input',
    unrepresentable: 'any',
  });
  return Object.fromEntries(
    Object.entries(written).map(([name, schema]) => [
      name,
      Object.fromEntries(Object.entries(schema).filter(([member]) => member !== '$schema' && member !== '$id')),
    ]),
  );
}
