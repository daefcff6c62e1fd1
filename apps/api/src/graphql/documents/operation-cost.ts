import { GraphQLError, type GraphQLSchema } from 'graphql';
import { fieldExtensionsEstimator, getComplexity, simpleEstimator } from 'graphql-query-complexity';

import type { ValidDocument } from './document-cache.js';
import { graphqlLimits } from './graphql-limits.js';

const estimators = [fieldExtensionsEstimator(), simpleEstimator({ defaultComplexity: 1 })];

/** Which operation of a document is asked about, with which variables. */
export interface CostQuestion {
  readonly schema: GraphQLSchema;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
}

/** Why the operation must not run, or null. Page sizes count as multipliers. */
export function costProblem(valid: ValidDocument, question: CostQuestion): GraphQLError | null {
  const { schema, operationName, variables } = question;
  try {
    const key = operationName ?? '';
    const known = valid.costVaries ? undefined : valid.costs.get(key);
    const cost =
      known ?? getComplexity({ schema, query: valid.document, estimators, ...optional(operationName, variables) });
    if (!valid.costVaries) valid.costs.set(key, cost);
    return cost <= graphqlLimits.cost ? null : tooExpensive(cost);
  } catch (error) {
    return error instanceof GraphQLError ? error : new GraphQLError('The cost of this operation cannot be told');
  }
}

function optional(operationName: CostQuestion['operationName'], variables: CostQuestion['variables']) {
  return {
    ...(operationName === undefined ? {} : { operationName }),
    ...(variables === undefined ? {} : { variables }),
  };
}

function tooExpensive(cost: number): GraphQLError {
  const message = `This operation costs ${cost}, the limit is ${graphqlLimits.cost}: ask for smaller pages or fewer fields`;
  return new GraphQLError(message, { extensions: { cost, limit: graphqlLimits.cost } });
}
