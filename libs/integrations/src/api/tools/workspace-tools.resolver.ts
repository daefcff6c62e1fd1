import { Args, Context, ID, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import {
  type ConnectionOf,
  cpuBoundCost,
  ForwardPageArgs,
  Json,
  listCost,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { WorkspaceTool, WorkspaceToolVersion } from '../../http/workspace-tool.js';
import { WorkspaceToolsService } from '../../http/workspace-tools.service.js';
import {
  RegisterToolInput,
  RemoveToolInput,
  SetToolEnabledInput,
  UpdateToolInput,
  ValidateToolPayload,
  WorkspaceToolConnection,
  WorkspaceToolModel,
  WorkspaceToolPayload,
  WorkspaceToolVersionModel,
} from './workspace-tool.model.js';

const kind = 'workspaceTools';

/** Reads and changes the HTTP tools of a workspace, for principals that may manage them. */
@Resolver(() => WorkspaceToolModel)
export class WorkspaceToolsResolver {
  constructor(private readonly workspaceTools: WorkspaceToolsService) {}

  @RequireAbility('manage', 'WorkspaceTool')
  @Query(() => WorkspaceToolConnection, {
    name: kind,
    description: 'The HTTP tools of the workspace, oldest first. Requires the role admin.',
    complexity: pageCost,
  })
  async list(
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<WorkspaceTool>> {
    const page = await this.workspaceTools.list(member, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Query(() => WorkspaceToolModel, {
    nullable: true,
    description: 'An HTTP tool. Null: not found.',
  })
  workspaceTool(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<WorkspaceTool | null> {
    return orNull(this.workspaceTools.get(member, id));
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Query(() => ValidateToolPayload, {
    description: 'Validates a definition as `registerTool` would. Saves nothing. Requires the role admin.',
    complexity: cpuBoundCost,
  })
  validateTool(
    @Args('definition', { type: () => Json, description: 'The definition (docs/tools.md).' }) definition: unknown,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(() => Promise.resolve({ definition: this.workspaceTools.validate(member, definition) }));
  }

  @ResolveField(() => [WorkspaceToolVersionModel], {
    description: 'Its versions, newest first, at most 100.',
    complexity: listCost(20),
  })
  versions(
    @Parent() { id }: WorkspaceTool,
    @Context() { member }: GraphqlContext,
  ): Promise<readonly WorkspaceToolVersion[]> {
    return this.workspaceTools.versions(member, id);
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Mutation(() => WorkspaceToolPayload, { description: 'Registers an HTTP tool, which can be used at once.' })
  registerTool(
    @Args('input', { type: () => RegisterToolInput, description: 'The tool.' })
    { definition, upsert }: RegisterToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({
      tool: await (upsert
        ? this.workspaceTools.upsert(member, definition)
        : this.workspaceTools.register(member, definition)),
    }));
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Mutation(() => WorkspaceToolPayload, { description: 'Updates the definition of a tool, as its next version.' })
  updateTool(
    @Args('input', { type: () => UpdateToolInput, description: 'The new definition.' })
    { id, definition }: UpdateToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ tool: await this.workspaceTools.update(member, id, definition) }));
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Mutation(() => WorkspaceToolPayload, { description: 'Removes a tool and frees its name. Its history stays.' })
  removeTool(
    @Args('input', { type: () => RemoveToolInput, description: 'The tool.' }) { id }: RemoveToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ tool: await this.workspaceTools.remove(member, id) }));
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Mutation(() => WorkspaceToolPayload, { description: 'Enables or disables a tool.' })
  setToolEnabled(
    @Args('input', { type: () => SetToolEnabledInput, description: 'The tool.' })
    { id, enabled }: SetToolEnabledInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ tool: await this.workspaceTools.setEnabled(member, id, enabled) }));
  }
}
