import type { JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client';

import { compileSchema, type SchemaCheck } from '#tools';

/**
 * Checks structured content with our own compiler (linear patterns, nothing fetched) instead of the client's. A schema that
 * cannot be compiled promises nothing: then any content will do.
 */
export const schemaValidator: jsonSchemaValidator = {
  getValidator<T>(schema: object): JsonSchemaValidator<T> {
    const check = checkOf({ ...schema });
    return (input) => {
      const problems = check(input);
      return problems.length === 0
        ? { valid: true, data: input as T, errorMessage: undefined } // valid by the schema that T stands for
        : { valid: false, data: undefined, errorMessage: problems.join('; ') };
    };
  },
};

function checkOf(schema: Readonly<Record<string, unknown>>): SchemaCheck {
  try {
    return compileSchema(schema);
  } catch {
    return () => [];
  }
}
