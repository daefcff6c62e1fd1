import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { abilityOf, asSubject, type MemberPrincipal } from '#auth';
import { type GraphqlContext, RequireAbility } from '#auth/api';
import { AppError, defined } from '#platform';
import {
  type ConnectionOf,
  ForwardPageArgs,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { McpAcceptance } from '../../mcp/choose-tools.js';
import { differencesOf } from '../../mcp/definition-differences.js';
import type { McpServer, McpSettings, McpTool } from '../../mcp/mcp-server.js';
import { type McpServerChanges, McpServersService, type NewMcpServer } from '../../mcp/mcp-servers.service.js';
import type { McpSettingsInput } from '../../mcp/mcp-settings.js';
import {
  AcceptMcpToolsInput,
  type McpAcceptanceInput,
  type McpCallsInput,
  type McpHttpInput,
  McpServerRefInput,
  type McpSettingInput,
  type McpStdioInput,
  RegisterMcpServerInput,
  RevokeMcpToolsInput,
  UpdateMcpServerInput,
} from './mcp-server.input.js';
import {
  McpServerConnection,
  McpServerModel,
  McpServerPayload,
  type McpServerSettings,
  type McpSetting,
  type McpToolModel,
} from './mcp-server.model.js';

/** Reads and changes the MCP servers of a workspace. */
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

/** Converts the input to a new server of the service. Throws `bad_request` for both transports or none. */
function toNewMcpServer(input: Omit<RegisterMcpServerInput, 'upsert'>): NewMcpServer {
  const { name, http, stdio, calls, enabled, accept } = input;
  if ((http == null) === (stdio == null)) throw oneTransport();
  const place = http == null ? toStdio(stdio ?? { command: '' }) : toHttp(http);
  return {
    name,
    settings: { ...place, ...toCalls(calls) },
    enabled: enabled ?? undefined,
    accept: accept == null ? undefined : toAcceptance(accept),
  };
}

/** Converts the input to changes of the service. The changes throw `bad_request` if they name another transport than the server's. */
function toMcpServerChanges({ name, http, stdio, calls, enabled }: Omit<UpdateMcpServerInput, 'id'>): McpServerChanges {
  const hasSettings = http != null || stdio != null || calls != null;
  const settings = (before: McpSettings) => ({ ...placeOf(before, { http, stdio }), ...toCalls(calls) });
  return {
    name: name ?? undefined,
    enabled: enabled ?? undefined,
    ...(hasSettings ? { settings } : {}),
  };
}

/** Converts the input to the tools to accept. Null counts as absent. */
function toAcceptance(input: McpAcceptanceInput & { readonly seen?: readonly string[] | null }): McpAcceptance {
  return { names: input.names ?? undefined, all: input.all ?? undefined, seen: input.seen ?? undefined };
}

interface Place {
  readonly http: McpHttpInput | null | undefined;
  readonly stdio: McpStdioInput | null | undefined;
}

function placeOf(before: McpSettings, { http, stdio }: Place): McpSettingsInput {
  if (before.transport === 'http') {
    if (stdio != null) throw otherTransport('stdio');
    return { ...before, ...(http == null ? {} : toHttp(http, before.headers)) };
  }
  if (http != null) throw otherTransport('http');
  return { ...before, ...(stdio == null ? {} : toStdio(stdio, before)) };
}

function toHttp({ url, headers }: McpHttpInput, before: Readonly<Record<string, string>> = {}) {
  return { transport: 'http', url, headers: headers == null ? before : toRecord(headers) } as const;
}

function toStdio(
  { command, args, env }: McpStdioInput,
  before: { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> } = { args: [], env: {} },
) {
  return {
    transport: 'stdio',
    command,
    args: args ?? before.args,
    env: env == null ? before.env : toRecord(env),
  } as const;
}

/** Null means "none" if the field allows it; otherwise the field counts as absent. */
function toCalls(calls: McpCallsInput | null | undefined) {
  if (calls == null) return {};
  const { timeoutMs, isolated, trusted, effect, effects } = calls;
  return {
    ...defined({ timeoutMs }),
    ...(isolated == null ? {} : { isolated }),
    ...(trusted == null ? {} : { trusted }),
    ...defined({ effect }),
    ...(effects == null ? {} : { effects: Object.fromEntries(effects.map((one) => [one.tool, one.effect])) }),
  };
}

function toRecord(settings: readonly McpSettingInput[]): Record<string, string> {
  return Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}

/** Converts a server to its GraphQL type. `mayManage`: whether to include the settings. */
function toMcpServerModel(server: McpServer, mayManage: boolean): McpServerModel {
  const { settings, tools, ...rest } = server;
  return {
    ...rest,
    transport: settings.transport,
    settings: mayManage ? toSettings(settings) : null,
    tools: tools.map(toTool),
  };
}

function toSettings(settings: McpSettings): McpServerSettings {
  const { timeoutMs, isolated, trusted, effect, effects } = settings;
  const isHttp = settings.transport === 'http';
  return {
    url: isHttp ? settings.url : null,
    headers: isHttp ? toList(settings.headers) : [],
    command: isHttp ? null : settings.command,
    args: isHttp ? [] : [...settings.args],
    env: isHttp ? [] : toList(settings.env),
    timeoutMs,
    isolated,
    trusted,
    effect,
    effects: Object.entries(effects).map(([tool, of]) => ({ tool, effect: of })),
  };
}

function toList(record: Readonly<Record<string, string>>): McpSetting[] {
  return Object.entries(record).map(([name, value]) => ({ name, value }));
}

function toTool(tool: McpTool): McpToolModel {
  const { name, offeredAs, status, problem, effect, hash, definition, acceptedDefinition, acceptedBy, acceptedAt } =
    tool;
  const { title, description = title, inputSchema, outputSchema, annotations } = definition;
  return {
    name,
    offeredAs,
    status,
    problem,
    effect,
    hash,
    description: description ?? null,
    inputSchema,
    outputSchema: outputSchema ?? null,
    annotations: annotations ?? null,
    differences: acceptedDefinition === null ? [] : [...differencesOf(acceptedDefinition, definition)],
    acceptedBy,
    acceptedAt,
  };
}

/** A server has exactly one transport. */
function oneTransport(): AppError {
  return new AppError({ code: 'bad_request', message: 'Set either http or stdio', field: 'http' });
}

/** The transport of a server cannot change. */
function otherTransport(field: 'http' | 'stdio'): AppError {
  const message = `${field}: the transport of this server cannot change. Register a new server instead`;
  return new AppError({ code: 'bad_request', message, field });
}
