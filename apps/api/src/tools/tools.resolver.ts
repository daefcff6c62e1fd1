import { Context, Query, Resolver } from '@nestjs/graphql';

import { type Tool, ToolRegistry } from '#tools';

import { listCost } from '../graphql/connections/to-page.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { ToolModel } from './tool.model.js';

/** Shows what tools there are. */
@Resolver(() => ToolModel)
export class ToolsResolver {
  constructor(private readonly registry: ToolRegistry) {}

  @Query(() => [ToolModel], { description: 'The tools of this server, by name.', complexity: listCost(20) })
  tools(@Context() { member }: GraphqlContext): readonly Tool[] {
    return member.scopes.includes('read') ? this.registry.list() : [];
  }
}
