import { z } from 'zod';

/** The named schemas of the OpenAPI document. A schema without a name is written inline. */
export const schemaNames = z.registry<{ id: string }>();

/** Registers the name of a schema for the OpenAPI document. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  schemaNames.add(schema, { id });
  return schema;
}
