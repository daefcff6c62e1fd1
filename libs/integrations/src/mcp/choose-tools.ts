import { mcpToolChanged, mcpToolNotFound, mcpToolUnusable } from './mcp.errors.js';
import type { McpListedHash } from './mcp-definition.js';
import type { McpServer, McpTool } from './mcp-server.js';

/** The tools of a server that an admin accepts. */
export interface McpAcceptance {
  /** Names of tools, as the server lists them. */
  readonly names?: readonly string[] | undefined;
  /** True: all listed tools that can be offered. */
  readonly all?: boolean | undefined;
  /**
   * Hashes of the reviewed definitions; a tool with another hash is rejected. Absent: the current definitions are accepted without a check.
   */
  readonly seen?: readonly string[] | undefined;
}

/**
 * Returns the definitions to accept. Throws `not_found`, `bad_request` (the tool cannot be offered), `conflict` (the definition differs from
 * the reviewed one).
 */
export function chooseTools(
  server: McpServer,
  { names = [], all = false, seen }: McpAcceptance,
): readonly McpListedHash[] {
  const named = names.map((name) => namedTool(server, name));
  const rest = all ? server.tools.filter((tool) => isListed(tool) && tool.problem === null) : [];
  const chosen = new Map([...named, ...rest].map(({ name, hash }) => [name, { name, hash }]));
  for (const { name, hash } of chosen.values()) {
    if (seen !== undefined && !seen.includes(hash)) throw mcpToolChanged(name);
  }
  return [...chosen.values()];
}

function namedTool({ tools }: McpServer, name: string): McpTool {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined || !isListed(tool)) throw mcpToolNotFound(name.slice(0, 128));
  if (tool.problem !== null) throw mcpToolUnusable(name, tool.problem);
  return tool;
}

function isListed({ status }: McpTool): boolean {
  return status !== 'gone';
}
