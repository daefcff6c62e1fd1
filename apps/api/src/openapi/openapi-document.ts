import { type INestApplication, Injectable } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';

import { errorBody, named, referenceTo, schemaNames } from '#platform/api';

const request = named(
  'GraphqlRequest',
  z
    .object({
      query: z
        .string()
        .optional()
        .meta({ description: 'Required, unless `extensions.persistedQuery` names a document.' }),
      variables: z.record(z.string(), z.unknown()).nullish(),
      operationName: z.string().nullish(),
      extensions: z.record(z.string(), z.unknown()).nullish(),
    })
    .meta({ example: { query: '{ me { id } }' } }),
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
const graphqlPath: OpenAPIObject['paths'] = {
  '/graphql': {
    get: {
      tags: ['GraphQL'],
      operationId: 'graphqlQuery',
      summary: 'Queries',
      description: 'Requires `Content-Type: application/json` or the header `Apollo-Require-Preflight`.',
      parameters: [
        query('query', 'The document.'),
        query('operationName', 'The name of the operation to run.'),
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

/** The tags in the order of the page. Controllers name theirs by `@ApiTags`. */
const tags: Readonly<Record<string, string>> = {
  OpenAI: 'For unchanged clients of OpenAI’s API. API keys only. Each response is a durable job: see docs/openai.md.',
  Files: 'Files of a workspace, by the hash of their content: attachments, and files from tools. See docs/files.md.',
  Jobs: 'Background jobs: start, follow, cancel. See docs/clients.md.',
  'Client tools': 'Tool calls that clients run. See docs/client-tools.md.',
  Interrupts: 'Requests that wait for a person: approvals, forms, unknown outcomes. See docs/interrupts.md.',
  Notifications: 'Events of your jobs that no viewer saw live. See docs/notifications.md.',
  Workflows:
    'Workflows as jobs. Also available as `model: "workflow/<slug>"` under /v1, and over GraphQL. See docs/workflows.md.',
  Triggers:
    'Changes of documents and signed requests that start jobs, and the documents that a receiver of a delivery reads. See docs/triggers.md.',
  Syntrix: 'Deliveries of a Syntrix database, whose chats the server answers. See docs/syntrix.md.',
  Tools: 'Tool call history and the tool queue. To run a single call: `POST /v1/tools/execute`.',
  GraphQL: 'All features. The schema is apps/api/schema.gql; subscriptions use graphql-ws on the same path.',
  Operations: 'Health, metrics, and API descriptions.',
};

named('Error', errorBody);

/** The OpenAPI document of the running application, generated from its controllers. */
@Injectable()
export class OpenApiDocument {
  private app: INestApplication | undefined;
  private document: OpenAPIObject | undefined;

  /** Called once, after all controllers are registered. */
  describe(app: INestApplication): void {
    this.app = app;
  }

  /** Built at the first request: a server whose document is never requested does not spend the time. */
  get(): OpenAPIObject {
    if (this.app === undefined) throw new TypeError('The application is not known yet');
    return (this.document ??= toDocument(this.app));
  }
}

function toDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.1')
    .setTitle('Nightshift')
    .setVersion('1')
    .setDescription('Conversations and workflows with tools, in the background: durable, resumable, multi-tenant.')
    .addServer('/')
    .addSecurity('bearer', {
      ...{ type: 'http', scheme: 'bearer' },
      description: 'An API key of a workspace; outside of /v1 also a token (JWT) of a person, with `X-Workspace-Id`.',
    })
    .addSecurityRequirements('bearer');
  for (const [name, description] of Object.entries(tags)) config.addTag(name, description);
  const document = SwaggerModule.createDocument(app, config.build(), {
    autoTagControllers: false,
    standardSchemaConverter: toReferenceOrSchema,
  });
  return {
    ...document,
    info: { ...infoOf(document), license: { name: 'MIT', identifier: 'MIT' } as { name: string } }, // OpenAPI 3.1 has `identifier`
    paths: sorted({ ...document.paths, ...graphqlPath }),
    components: { ...document.components, schemas: toSchemas() },
  };
}

/** The title, version and description, without the empty contact of the builder. */
function infoOf({ info: { title, version, description = '' } }: OpenAPIObject) {
  return { title, version, description };
}

/** A Zod schema with a name becomes a reference; any other is inlined. */
function toReferenceOrSchema(schema: unknown) {
  if (!(schema instanceof z.ZodType)) return undefined;
  if (schemaNames.has(schema)) return { schema: referenceTo(schema), components: {} };
  return { schema: withoutDialect(z.toJSONSchema(schema, jsonSchemaOptions)), components: {} };
}

const jsonSchemaOptions = { io: 'input', unrepresentable: 'any' } as const;

/** All named schemas; a schema that contains another refers to it by name. */
function toSchemas() {
  const { schemas } = z.toJSONSchema(schemaNames, {
    uri: (id) => `#/components/schemas/${id}`,
    ...jsonSchemaOptions,
  });
  return sorted(Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutDialect(schema)])));
}

/** By name, so the document does not depend on the order in which modules are loaded. */
function sorted<T>(members: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function withoutDialect(schema: object): object {
  return Object.fromEntries(Object.entries(schema).filter(([member]) => !['$schema', '$id'].includes(member)));
}
