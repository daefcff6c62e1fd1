import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import {
  type ConnectionOf,
  ForwardPageArgs,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { SyntrixConnection } from '../../syntrix/syntrix-connection.js';
import { SyntrixConnectionsService } from '../../syntrix/syntrix-connections.service.js';
import {
  DeleteSyntrixConnectionInput,
  SaveSyntrixConnectionInput,
  SyntrixConnectionConnection,
  SyntrixConnectionModel,
  SyntrixConnectionPayload,
} from './syntrix-connection.model.js';

/** Shows and changes the Syntrix connections of a workspace. */
@Resolver(() => SyntrixConnectionModel)
export class SyntrixConnectionsResolver {
  constructor(private readonly connections: SyntrixConnectionsService) {}

  @RequireAbility('read', 'SyntrixConnection')
  @Query(() => SyntrixConnectionConnection, {
    description: 'The Syntrix connections of the workspace, oldest first. Requires the role owner or admin.',
    complexity: pageCost,
  })
  async syntrixConnections(
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<SyntrixConnectionModel>> {
    const page = await this.connections.list(member, toForwardPage(args, 'syntrixConnections'));
    const shown = { ...page, items: page.items.map(toModel) };
    return toForwardConnection(shown, args, { kind: 'syntrixConnections', idOf: ({ id }) => id });
  }

  @RequireAbility('manage', 'SyntrixConnection')
  @Mutation(() => SyntrixConnectionPayload, {
    description: 'Creates a Syntrix connection, or replaces the one with this name.',
  })
  saveSyntrixConnection(
    @Args('input', { type: () => SaveSyntrixConnectionInput, description: 'The connection.' })
    { name, ...settings }: SaveSyntrixConnectionInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(() => this.connections.save(member, { name, settings }));
  }

  @RequireAbility('manage', 'SyntrixConnection')
  @Mutation(() => SyntrixConnectionPayload, {
    description: 'Deletes a Syntrix connection. The server then refuses its deliveries.',
  })
  deleteSyntrixConnection(
    @Args('input', { type: () => DeleteSyntrixConnectionInput, description: 'The connection.' })
    { name }: DeleteSyntrixConnectionInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(() => this.connections.remove(member, name));
  }
}

function changed(run: () => Promise<SyntrixConnection>) {
  return toPayload(async () => ({ syntrixConnection: toModel(await run()) }));
}

function toModel({ id, name, settings, createdBy, createdAt, updatedAt }: SyntrixConnection): SyntrixConnectionModel {
  return { id, name, savedBy: createdBy, createdAt, updatedAt, ...settings };
}
