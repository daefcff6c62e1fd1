import { json, type Route, type RouteGroup } from '../route.js';

const open = (path: string, operationId: string, rest: Pick<Route, 'summary' | 'replies'>): Route => ({
  ...{ method: 'get', path, operationId, isPublic: true, refusals: [], ...rest },
});

/** For those who run Nightshift, and for programs that look for its API. */
export const operationRoutes: RouteGroup = {
  tag: 'Operations',
  description: 'Health, metrics, and API descriptions.',
  errors: 'Error',
  routes: [
    open('/', 'getEndpoints', {
      summary: 'List the endpoints',
      replies: [json(200, 'Endpoints', 'The same for everybody.')],
    }),
    open('/healthz', 'getHealth', {
      summary: 'Check that the process responds',
      replies: [json(200, 'Alive', 'It does.')],
    }),
    open('/readyz', 'getReadiness', {
      summary: 'Check that the process accepts requests',
      replies: [json(200, 'Readiness', 'It does.'), json(503, 'Readiness', 'It does not, or not yet.')],
    }),
    open('/metrics', 'getMetrics', {
      summary: 'Figures, for the machine itself only',
      replies: [
        { status: 200, description: 'Prometheus text.', media: { 'text/plain': 'docs/metrics.md has their names.' } },
        json(404, 'Error', 'For everybody else.'),
      ],
    }),
    open('/openapi.json', 'getOpenApi', {
      summary: 'This document',
      replies: [{ status: 200, description: 'OpenAPI 3.1.', media: { 'application/json': 'The document.' } }],
    }),
    open('/docs', 'getDocs', {
      summary: 'This document as a page',
      replies: [{ status: 200, description: 'The page.', media: { 'text/html': 'The page.' } }],
    }),
    open('/explorer/{file}', 'getExplorerFile', {
      summary: 'Get a file of the GraphQL explorer, which browsers get at /graphql',
      replies: [{ status: 200, description: 'The file.', media: { '*/*': 'Scripts and styles.' } }],
    }),
    open('/docs/{file}', 'getDocsFile', {
      summary: 'Get a file of the page',
      replies: [{ status: 200, description: 'The file.', media: { '*/*': 'Scripts and styles.' } }],
    }),
  ],
};

/** The other API. */
export const graphqlRoutes: RouteGroup = {
  tag: 'GraphQL',
  description: 'Everything else. Its schema is apps/api/schema.gql; subscriptions go over graphql-ws on the same path.',
  errors: 'Error',
  routes: [
    {
      method: 'get',
      path: '/graphql',
      operationId: 'graphqlQuery',
      summary: 'Queries',
      description: 'Requires `Content-Type: application/json` or the header `Apollo-Require-Preflight`.',
      parameters: [
        { name: 'query', in: 'query', description: 'The document.' },
        { name: 'operationName', in: 'query', description: 'Which operation of the document runs.' },
        { name: 'variables', in: 'query', description: 'A JSON object.' },
        {
          name: 'extensions',
          in: 'query',
          description: 'A JSON object: `persistedQuery` names a document by its hash.',
        },
      ],
      replies: [json(200, 'GraphqlReply', 'Data, errors, or both.')],
      refusals: [],
    },
    {
      method: 'post',
      path: '/graphql',
      operationId: 'graphql',
      summary: 'Queries and mutations',
      body: 'GraphqlRequest',
      replies: [json(200, 'GraphqlReply', 'Data, errors, or both.')],
      refusals: [],
    },
  ],
};
