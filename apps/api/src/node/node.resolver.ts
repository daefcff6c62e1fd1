import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';

import { InterruptLoaders } from '#approvals/api';
import { type GraphqlContext, RequireAuthentication } from '#auth/api';
import { ThreadLoaders } from '#chat/api';
import { JobLoaders } from '#jobs/api';
import { graphqlLimits, invalidPage, Node, type NodeRef, type NodeType, parseNodeId } from '#platform/api';
import { ToolCallLoaders } from '#tools/api';

type Found = object & { readonly __typename: NodeType };

/** Finds an object by its node id. Each type is read with the caller's rights: an object that the caller may not read does not exist. */
@Resolver()
export class NodeResolver {
  constructor(
    private readonly jobs: JobLoaders,
    private readonly threads: ThreadLoaders,
    private readonly toolCalls: ToolCallLoaders,
    private readonly interrupts: InterruptLoaders,
  ) {}

  @RequireAuthentication()
  @Query(() => Node, {
    nullable: true,
    description: 'The object with this node id. Null: not found.',
  })
  node(
    @Args('id', { type: () => ID, description: 'A node id.' }) id: string,
    @Context() context: GraphqlContext,
  ): Promise<Found | null> {
    return this.find(context, id);
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
    @Context() context: GraphqlContext,
  ): Promise<(Found | null)[]> {
    if (ids.length > graphqlLimits.pageSize) throw invalidPage('ids', `ids exceeds ${graphqlLimits.pageSize} entries`);
    return Promise.all(ids.map((id) => this.find(context, id)));
  }

  private async find(context: GraphqlContext, nodeId: string): Promise<Found | null> {
    const ref = parseNodeId(nodeId);
    const row = ref === null ? null : await this.load(context, ref);
    return ref === null || row === null ? null : { ...row, __typename: ref.type };
  }

  private load(context: GraphqlContext, { type, id }: NodeRef): Promise<object | null> {
    switch (type) {
      case 'Job':
        return this.jobs.of(context).jobs.load(id);
      case 'Thread':
        return this.threads.of(context).threads.load(id);
      case 'Message':
        return this.threads.of(context).messages.load(id);
      case 'ToolCall':
        return this.toolCalls.of(context).toolCalls.load(id);
      case 'Interrupt':
        return this.interrupts.of(context).interrupts.load(id);
    }
  }
}
