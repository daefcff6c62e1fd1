import {
  getVariableValues,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';

import { graphqlLimits } from '#platform/api';

export type Variables = Readonly<Record<string, unknown>>;

/** Each error of a variable costs about a tenth of a millisecond and repeats the value. */
const maxErrors = 3;

/** Coerces the variables of a request to the types that the operation declares, and fills in defaults. Returns the errors if that fails. */
export function coerceVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Variables | undefined,
): { readonly coerced: Variables } | readonly GraphQLError[] {
  const definitions = operation.variableDefinitions ?? [];
  if (definitions.length === 0) return { coerced: {} };
  let left: number = graphqlLimits.variableValues;
  for (const { type, variable } of definitions) {
    const declared = typeFromAST(schema, type);
    if (isInputType(declared)) left = remaining(declared, given?.[variable.name.value], left);
  }
  if (left < 0) return [new GraphQLError(`The variables have more than ${graphqlLimits.variableValues} values`)];
  const { coerced, errors } = getVariableValues(
    schema,
    definitions,
    { ...given },
    { maxErrors, hideSuggestions: true },
  );
  return coerced === undefined ? errors : { coerced };
}

/** Counts down from `left`, one for each value that coercion would visit. A negative result: the count stopped early. */
function remaining(type: GraphQLInputType, value: unknown, left: number): number {
  if (isNonNullType(type)) return remaining(type.ofType, value, left);
  let rest = left - 1;
  if (isListType(type) && Array.isArray(value)) {
    for (const item of value) {
      if (rest < 0) return rest;
      rest = remaining(type.ofType, item, rest);
    }
  } else if (isInputObjectType(type) && typeof value === 'object' && value !== null) {
    const fields = type.getFields();
    for (const [name, inner] of Object.entries(value)) {
      if (rest < 0) return rest;
      const field = fields[name];
      rest = field === undefined ? rest - 1 : remaining(field.type, inner, rest);
    }
  }
  return rest;
}
