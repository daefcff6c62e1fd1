import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { abilityOf, asSubject, type MemberPrincipal } from '#auth';
import { type GraphqlContext, RequireAbility } from '#auth/api';
import {
  type ConnectionOf,
  ForwardPageArgs,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { McpServer } from '../../mcp/mcp-server.js';
import { McpServersService } from '../../mcp/mcp-servers.service.js';
import {
  AcceptMcpToolsInput,
  McpServerRefInput,
  RegisterMcpServerInput,
  RevokeMcpToolsInput,
  UpdateMcpServerInput,
} from './mcp-server.input.js';
import { McpServerConnection, McpServerModel, McpServerPayload } from './mcp-server.model.js';
import { toAcceptance, toMcpServerChanges, toNewMcpServer } from './to-mcp-input.js';
import { toMcpServerModel } from './to-mcp-server-model.js';

/** Shows and changes the MCP servers of a workspace. */
@Resolver(() => McpServerModel)
export class McpServersResolver {
  constructor(private readonly servers: McpServersService) {}

  @RequireAbility('read', 'McpServer')
  @Query(() => McpServerConnection, {
    description: 'The MCP servers of the workspace with their tools, oldest first.',
    complexity: pageCost,
  })
  async mcpServers(
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<McpServerModel>> {
    const page = await this.servers.list(member, toForwardPage(args, 'mcpServers'));
    const shown = { ...page, items: page.items.map((server) => shownTo(member, server)) };
    return toForwardConnection(shown, args, { kind: 'mcpServers', idOf: ({ id }) => id });
  }

  @RequireAbility('manage', 'McpServer')
  @Mutation(() => McpServerPayload, {
    description: 'Registers an MCP server and lists its tools. If that fails, `problem` has the reason.',
  })
  registerMcpServer(
    @Args('input', { type: () => RegisterMcpServerInput, description: 'The server.' })
    { upsert, ...input }: RegisterMcpServerInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, async () =>
      upsert
        ? this.servers.upsert(member, toNewMcpServer(input), toMcpServerChanges(input))
        : this.servers.register(member, toNewMcpServer(input)),
    );
  }

  @RequireAbility('manage', 'McpServer')
  @Mutation(() => McpServerPayload, { description: 'Updates an MCP server and refreshes its tool list.' })
  updateMcpServer(
    @Args('input', { type: () => UpdateMcpServerInput, description: 'The changes.' }) input: UpdateMcpServerInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.update(member, input.id, toMcpServerChanges(input)));
  }

  @RequireAbility('manage', 'McpServer')
  @Mutation(() => McpServerPayload, { description: 'Removes an MCP server and its tools.' })
  removeMcpServer(
    @Args('input', { type: () => McpServerRefInput, description: 'The server.' }) { id }: McpServerRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.remove(member, id));
  }

  @RequireAbility('manage', 'McpServer')
  @Mutation(() => McpServerPayload, { description: 'Refreshes the tool list of an MCP server.' })
  refreshMcpServer(
    @Args('input', { type: () => McpServerRefInput, description: 'The server.' }) { id }: McpServerRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.refresh(member, id));
  }

  @RequireAbility('manage', 'McpServer')
  @Mutation(() => McpServerPayload, {
    description: 'Accepts tools with their current definitions, so that they are offered.',
  })
  acceptMcpTools(
    @Args('input', { type: () => AcceptMcpToolsInput, description: 'The tools.' }) input: AcceptMcpToolsInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.accept(member, input.serverId, toAcceptance(input)));
  }

  @RequireAbility('manage', 'McpServer')
  @Mutation(() => McpServerPayload, {
    description: 'Revokes the acceptance of tools, which are then no longer offered.',
  })
  revokeMcpTools(
    @Args('input', { type: () => RevokeMcpToolsInput, description: 'The tools.' })
    { serverId, names }: RevokeMcpToolsInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.revoke(member, serverId, names));
  }
}

function changed(member: MemberPrincipal, write: () => Promise<McpServer>) {
  return toPayload(async () => ({ mcpServer: shownTo(member, await write()) }));
}

function shownTo(member: MemberPrincipal, server: McpServer): McpServerModel {
  const { workspaceId } = member;
  return toMcpServerModel(server, abilityOf(member).can('manage', asSubject('McpServer', { workspaceId })));
}
