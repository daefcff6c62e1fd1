import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql';
import type { GraphQLSchema } from 'graphql';

import { graphqlResolvers } from '../../apps/api/src/api.module.js';
import { DocumentCache } from '../../apps/api/src/graphql/documents/document-cache.js';
import { type PreparedOperation, prepareOperation } from '../../apps/api/src/graphql/documents/prepare-operation.js';
import { openTestingModule } from './testing-module.js';

/** The schema of the product, without resolvers that reach anything, and documents prepared against it. */
export interface TestSchema {
  readonly schema: GraphQLSchema;
  readonly cache: DocumentCache;
  /** Prepares the only operation of a document. Throws why it is refused. */
  prepare(query: string, variables?: Readonly<Record<string, unknown>>): PreparedOperation;
}

export async function buildTestSchema(): Promise<TestSchema> {
  const app = await openTestingModule({ imports: [GraphQLSchemaBuilderModule] });
  const schema = await app.get(GraphQLSchemaFactory).create([...graphqlResolvers]);
  await app.close();
  const cache = new DocumentCache(schema);
  const prepare = (query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const valid = cache.get(query);
    if (!('document' in valid)) throw new Error(valid[0]?.message);
    const prepared = prepareOperation({ schema, valid, request: { query, operationName: undefined, variables } });
    if (!('operation' in prepared)) throw new Error(prepared[0]?.message);
    return prepared;
  };
  return { schema, cache, prepare };
}
