import {
  getIntrospectionQuery,
  GraphQLError,
  type GraphQLSchema,
  type IntrospectionOptions,
  isIntrospectionType,
  type OperationDefinitionNode,
  parse,
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

/** An operation of a valid document, with the variables of one request, which `coerceVariables` has accepted. */
export interface CostQuestion {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly variables: Variables | undefined;
}

/** Why the operation must not run, or null. Page sizes count as multipliers. */
export function costProblem(valid: ValidDocument, question: CostQuestion): GraphQLError | null {
  try {
    const cost = costOf(valid, question);
    return cost <= graphqlLimits.cost ? null : tooExpensive(cost);
  } catch (error) {
    return error instanceof GraphQLError ? error : new GraphQLError('The cost of this operation cannot be computed');
  }
}

function costOf(valid: ValidDocument, { schema, operation, variables }: CostQuestion): number {
  const operationName = operation.name?.value;
  const compute = () =>
    getComplexity({
      schema,
      query: valid.document,
      estimators: estimators(schema),
      variables: { ...variables },
      ...defined({ operationName }),
    });
  // With variables, the page sizes and the included fields can differ in each request of the same text.
  if ((operation.variableDefinitions ?? []).length > 0) return compute();
  const key = operationName ?? '';
  const known = valid.costs.get(key) ?? compute();
  valid.costs.set(key, known);
  return known;
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
