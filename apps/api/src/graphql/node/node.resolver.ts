import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';

import { RequireAuthentication } from '../../auth/require-ability.js';
import { invalidPage } from '../connections/connection.errors.js';
import { graphqlLimits } from '../documents/graphql-limits.js';
import type { GraphqlContext } from '../graphql-context.js';
import type { Loaders } from '../loaders.js';
import { Node } from './node.model.js';
import { type NodeType, parseNodeId } from './node-id.js';

type Found = object & { readonly __typename: NodeType };

const loaderOf = {
  Job: 'jobs',
  Thread: 'threads',
  Message: 'messages',
  ToolCall: 'toolCalls',
  Interrupt: 'interrupts',
} as const satisfies Record<NodeType, keyof Loaders>;

/** Finds anything by its node id. Each type is read in the scope of who asks: what that does not cover does not exist. */
@Resolver()
export class NodeResolver {
  @RequireAuthentication()
  @Query(() => Node, {
    nullable: true,
    description: 'The object with this node id. Null: not found.',
  })
  node(
    @Args('id', { type: () => ID, description: 'A node id.' }) id: string,
    @Context() { loaders }: GraphqlContext,
  ): Promise<Found | null> {
    return find(loaders, id);
  }

  @RequireAuthentication()
  @Query(() => [Node], {
    nullable: 'items',
    description: 'Up to 100 objects, in the requested order. Null for each that was not found.',
    complexity: ({ args, childComplexity }) =>
      1 + (Array.isArray(args['ids']) ? args['ids'].length : 1) * childComplexity,
  })
  async nodes(
    @Args('ids', { type: () => [ID], description: 'Node ids.' }) ids: string[],
    @Context() { loaders }: GraphqlContext,
  ): Promise<(Found | null)[]> {
    if (ids.length > graphqlLimits.pageSize) throw invalidPage('ids', `ids exceeds ${graphqlLimits.pageSize} entries`);
    return Promise.all(ids.map((id) => find(loaders, id)));
  }
}

async function find(loaders: Loaders, nodeId: string): Promise<Found | null> {
  const ref = parseNodeId(nodeId);
  const row = ref === null ? null : await loaders[loaderOf[ref.type]].load(ref.id);
  return ref === null || row === null ? null : { ...row, __typename: ref.type };
}
