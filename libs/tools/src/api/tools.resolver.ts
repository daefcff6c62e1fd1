import { Context, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { listCost } from '#platform/api';

import { ToolCatalog } from '../catalog/tool-catalog.js';
import { PluginRegistry, type ShownPlugin } from '../plugins/plugin.registry.js';
import type { Tool } from '../tool.js';
import { PluginModel, ToolModel } from './tool.model.js';

/** Lists the tools and plugins. */
@Resolver(() => ToolModel)
export class ToolsResolver {
  constructor(
    private readonly catalog: ToolCatalog,
    private readonly registry: PluginRegistry,
  ) {}

  @RequireAbility('read', 'Tool')
  @Query(() => [ToolModel], {
    description: 'The tools of the installation and of the workspace, by name.',
    complexity: listCost(20),
  })
  async tools(@Context() { member }: GraphqlContext): Promise<readonly Tool[]> {
    return (await this.catalog.offeredTo(member)).list();
  }

  @ResolveField(() => PluginModel, {
    nullable: true,
    description: 'The plugin that defines it. Null: the server or the workspace does.',
  })
  plugin(@Parent() tool: Tool): ShownPlugin | null {
    return this.registry.ownerOf(tool);
  }

  @RequireAbility('read', 'Tool')
  @Query(() => [PluginModel], {
    description: 'The plugins of the process that responds, in the order in which they were loaded.',
    complexity: listCost(20),
  })
  plugins(): readonly ShownPlugin[] {
    return this.registry.shown();
  }
}
