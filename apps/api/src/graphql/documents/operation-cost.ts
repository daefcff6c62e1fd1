import {
  getIntrospectionQuery,
  GraphQLError,
  type GraphQLSchema,
  type IntrospectionOptions,
  isIntrospectionType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type TypeNode,
} from 'graphql';
import {
  type ComplexityEstimator,
  fieldExtensionsEstimator,
  getComplexity,
  simpleEstimator,
} from 'graphql-query-complexity';

import { defined } from '#platform';
import { graphqlLimits } from '#platform/api';

import type { Variables } from './coerce-variables.js';
import type { ValidDocument } from './document-cache.js';

/** Typical number of entries per parent in introspection lists; `types` contains all types of the schema. */
const introspectionLists: Readonly<Record<string, number>> = {
  fields: 8,
  args: 3,
  inputFields: 6,
  enumValues: 6,
  possibleTypes: 6,
  interfaces: 2,
  directives: 8,
};

/** The largest introspection that tools send. */
const everything: IntrospectionOptions = {
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
};

/** An operation of a valid document, with the variables of one request. */
export interface CostQuestion {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly variables: Variables | undefined;
  /** `variables` after `coerceVariables`. */
  readonly coerced: Variables;
}

/** The types of the single values that decide a cost: page sizes, and the conditions of `@include` and `@skip`. */
const decidingTypes = new Set(['Int', 'Boolean']);
/** Maximum number of costs that are kept for a document, and maximum length of their keys. */
const [maxCosts, maxKeyLength] = [100, 200];

/** Why the operation must not run, or null. Page sizes count as multipliers. */
export function costProblem(valid: ValidDocument, question: CostQuestion): GraphQLError | null {
  try {
    const cost = costOf(valid, question);
    return cost <= graphqlLimits.cost ? null : tooExpensive(cost);
  } catch (error) {
    return error instanceof GraphQLError ? error : new GraphQLError('The cost of this operation cannot be computed');
  }
}

function costOf(valid: ValidDocument, { schema, operation, variables, coerced }: CostQuestion): number {
  const key = costKey(operation, coerced);
  const known = valid.costs.get(key);
  if (known !== undefined) return known;
  const operationName = operation.name?.value;
  const cost = getComplexity({
    schema,
    query: valid.document,
    estimators: estimators(schema),
    variables: { ...variables },
    ...defined({ operationName }),
  });
  if (key.length > maxKeyLength) return cost;
  if (valid.costs.size >= maxCosts) valid.costs.clear();
  valid.costs.set(key, cost);
  return cost;
}

/**
 * Requests with the same key cost the same. The key has the operation's name, then in order the deciding values and the lengths of the lists.
 * Estimators read no other arguments; a test checks this for the whole schema.
 */
function costKey({ name, variableDefinitions = [] }: OperationDefinitionNode, coerced: Variables): string {
  const parts = variableDefinitions.map(({ type, variable }) => decidingPart(type, coerced[variable.name.value]));
  return [name?.value ?? '', ...parts].join(' ').trimEnd();
}

function decidingPart(type: TypeNode, value: unknown): string {
  if (type.kind === Kind.NON_NULL_TYPE) return decidingPart(type.type, value);
  if (type.kind === Kind.LIST_TYPE) return Array.isArray(value) ? String(value.length) : '';
  return decidingTypes.has(type.name.value) ? String(value) : '';
}

/** Counts the entries of an introspection. The cost of a root field is its share of the introspection of the whole schema. */
function introspectionEstimator(schema: GraphQLSchema, entriesPerCost: number): ComplexityEstimator {
  return ({ type, field, childComplexity }) => {
    if (field.name === '__schema' || field.name === '__type') return 1 + Math.ceil(childComplexity / entriesPerCost);
    if (!isIntrospectionType(type)) return undefined;
    const isTypes = type.name === '__Schema' && field.name === 'types';
    const entries = isTypes ? Object.keys(schema.getTypeMap()).length : (introspectionLists[field.name] ?? 1);
    return 1 + entries * childComplexity;
  };
}

const estimatorsOf = new WeakMap<GraphQLSchema, ComplexityEstimator[]>();

function estimators(schema: GraphQLSchema): ComplexityEstimator[] {
  const known = estimatorsOf.get(schema);
  if (known !== undefined) return known;
  const others = [fieldExtensionsEstimator(), simpleEstimator({ defaultComplexity: 1 })];
  const whole = getComplexity({
    schema,
    query: parse(getIntrospectionQuery(everything)),
    estimators: [introspectionEstimator(schema, 1), ...others],
  });
  const made = [introspectionEstimator(schema, Math.max(1, whole / graphqlLimits.introspectionCost)), ...others];
  estimatorsOf.set(schema, made);
  return made;
}

function tooExpensive(cost: number): GraphQLError {
  const message = `This operation costs ${cost}, the limit is ${graphqlLimits.cost}: ask for smaller pages or fewer fields`;
  return new GraphQLError(message, { extensions: { cost, limit: graphqlLimits.cost } });
}
