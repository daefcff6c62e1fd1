import { differencesOf } from '../../mcp/definition-differences.js';
import type { McpServer, McpSettings, McpTool } from '../../mcp/mcp-server.js';
import type { McpServerModel, McpServerSettings, McpSetting, McpToolModel } from './mcp-server.model.js';

/** A server as GraphQL shows it. `mayManage`: whether the settings are shown. */
export function toMcpServerModel(server: McpServer, mayManage: boolean): McpServerModel {
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
