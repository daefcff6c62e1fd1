import type { OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';

import { named, referenceTo } from '#platform/api';

const request = named(
  'GraphqlRequest',
  z.object({
    query: z
      .string()
      .optional()
      .meta({ description: 'Required, unless `extensions.persistedQuery` names a document.' }),
    variables: z.record(z.string(), z.unknown()).nullish(),
    operationName: z.string().nullish(),
    extensions: z.record(z.string(), z.unknown()).nullish(),
  }),
);

const reply = named(
  'GraphqlReply',
  z.object({
    data: z.record(z.string(), z.unknown()).nullish(),
    errors: z.array(z.looseObject({ message: z.string() })).optional(),
  }),
);

const json = (schema: z.ZodType) => ({ 'application/json': { schema: referenceTo(schema) } });

const query = (name: string, description: string) =>
  ({ name, in: 'query', description, schema: { type: 'string' } }) as const;

/** The one path that no controller serves. */
export const graphqlPath: OpenAPIObject['paths'] = {
  '/graphql': {
    get: {
      tags: ['GraphQL'],
      operationId: 'graphqlQuery',
      summary: 'Queries',
      description: 'Requires `Content-Type: application/json` or the header `Apollo-Require-Preflight`.',
      parameters: [
        query('query', 'The document.'),
        query('operationName', 'Which operation of the document runs.'),
        query('variables', 'A JSON object.'),
        query('extensions', 'A JSON object: `persistedQuery` names a document by its hash.'),
      ],
      responses: { 200: { description: 'Data, errors, or both.', content: json(reply) } },
    },
    post: {
      tags: ['GraphQL'],
      operationId: 'graphql',
      summary: 'Queries and mutations',
      requestBody: { required: true, content: json(request) },
      responses: { 200: { description: 'Data, errors, or both.', content: json(reply) } },
    },
  },
};
