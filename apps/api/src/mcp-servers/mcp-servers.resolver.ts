import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { abilityOf, asSubject, type MemberPrincipal } from '#auth';
import { type McpServer, McpServersService } from '#tools';

import { toForwardConnection, toForwardPage } from '../graphql/connections/forward-page.js';
import { ForwardPageArgs } from '../graphql/connections/page.args.js';
import type { ConnectionOf } from '../graphql/connections/to-connection.js';
import { pageCost } from '../graphql/connections/to-page.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toPayload } from '../graphql/user-error.model.js';
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

  @Mutation(() => McpServerPayload, {
    description: 'Sets up an MCP server and lists its tools. A server that cannot be asked says why in `problem`.',
  })
  registerMcpServer(
    @Args('input', { type: () => RegisterMcpServerInput, description: 'The server.' }) input: RegisterMcpServerInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, async () => this.servers.register(member, toNewMcpServer(input)));
  }

  @Mutation(() => McpServerPayload, { description: 'Changes an MCP server, and lists its tools anew.' })
  updateMcpServer(
    @Args('input', { type: () => UpdateMcpServerInput, description: 'What changes.' }) input: UpdateMcpServerInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.update(member, input.id, toMcpServerChanges(input)));
  }

  @Mutation(() => McpServerPayload, { description: 'Removes an MCP server, and its tools with it.' })
  removeMcpServer(
    @Args('input', { type: () => McpServerRefInput, description: 'Which server.' }) { id }: McpServerRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.remove(member, id));
  }

  @Mutation(() => McpServerPayload, { description: 'Lists the tools of an MCP server anew.' })
  refreshMcpServer(
    @Args('input', { type: () => McpServerRefInput, description: 'Which server.' }) { id }: McpServerRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.refresh(member, id));
  }

  @Mutation(() => McpServerPayload, {
    description: 'Accepts tools with the definition they have now, so that they are offered.',
  })
  acceptMcpTools(
    @Args('input', { type: () => AcceptMcpToolsInput, description: 'Which tools.' }) input: AcceptMcpToolsInput,
    @Context() { member }: GraphqlContext,
  ) {
    return changed(member, () => this.servers.accept(member, input.serverId, toAcceptance(input)));
  }

  @Mutation(() => McpServerPayload, { description: 'Takes acceptance back: the tools are not offered any more.' })
  revokeMcpTools(
    @Args('input', { type: () => RevokeMcpToolsInput, description: 'Which tools.' })
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
