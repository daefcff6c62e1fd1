import { z } from 'zod';

/** The schemas that the OpenAPI document lists under a name. A schema without a name is written where it is used. */
export const schemaNames = z.registry<{ id: string }>();

/** Gives a schema its name in the OpenAPI document. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  schemaNames.add(schema, { id });
  return schema;
}
