import { type McpDefinition, problemOf } from './mcp-definition.js';
import { effectOf } from './mcp-effect.js';
import type { McpServer, McpTool, McpToolStatus } from './mcp-server.js';
import { offeredName } from './offered-name.js';

/** A stored tool. */
export interface McpToolRecord {
  readonly name: string;
  readonly definition: McpDefinition;
  readonly hash: string;
  readonly isGone: boolean;
  readonly acceptedDefinition: McpDefinition | null;
  readonly acceptedHash: string | null;
  readonly acceptedBy: string | null;
  /** In ms since the epoch. */
  readonly acceptedAt: number | null;
}

/** A stored server. */
export interface McpServerRecord extends Omit<McpServer, 'tools'> {
  readonly tools: readonly McpToolRecord[];
}

/** Converts a stored server and its tools to their public form. `isTaken`: whether a tool of this installation has that name. */
export function toMcpServer(record: McpServerRecord, isTaken: (name: string) => boolean): McpServer {
  const owners = new Map<string, string>();
  const tools = record.tools.map((tool): McpTool => {
    const offeredAs = offeredName(record.name, tool.name);
    const owner = owners.get(offeredAs) ?? tool.name;
    owners.set(offeredAs, owner);
    const clash = owner === tool.name ? null : `its tool ${owner} is offered under the same name`;
    const taken = isTaken(offeredAs) ? 'a tool of this server has that name' : null;
    const { definition, hash, acceptedDefinition, acceptedBy, acceptedAt, name } = tool;
    return {
      name,
      offeredAs,
      status: statusOf(tool),
      problem: clash ?? taken ?? problemOf({ hash, definition }),
      effect: effectOf(acceptedDefinition ?? definition, record.settings),
      definition,
      hash,
      acceptedDefinition,
      acceptedBy,
      acceptedAt,
    };
  });
  return { ...record, tools };
}

/** Compares the accepted definition of a tool with the listed one. */
export function statusOf(tool: Pick<McpToolRecord, 'hash' | 'acceptedHash' | 'isGone'>): McpToolStatus {
  if (tool.isGone) return 'gone';
  if (tool.acceptedHash === null) return 'new';
  return tool.acceptedHash === tool.hash ? 'accepted' : 'changed';
}
