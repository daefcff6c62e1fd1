import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';

/** The schema as it is committed in `apps/api/schema.gql`. */
export function toSchemaFile(schema: GraphQLSchema): string {
  return `# Written by \`npm run schema\` from the resolvers; a test compares them.\n\n${printSchema(lexicographicSortSchema(schema))}\n`;
}
