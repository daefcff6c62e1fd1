import type { ToolEffect } from '#tools';

import type { McpDefinition } from './mcp-definition.js';

/** The settings of both kinds of servers. */
interface McpCommonSettings {
  /** Timeout of a call in ms; null: the default of the installation. */
  readonly timeoutMs: number | null;
  /** Whether calls go to the tool queue, so that jobs wait for them without a worker slot. */
  readonly isolated: boolean;
  /** Whether `effect` and `effects` may be weaker than the server's own hints. */
  readonly trusted: boolean;
  /** The effect of repeating a call of any of its tools; null: according to the hints of the tool. */
  readonly effect: ToolEffect | null;
  /** The effects of single tools, by the server's names. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
}

/** A server over streamable HTTP. Header values may contain `{{secret:NAME}}`. */
export interface McpHttpSettings extends McpCommonSettings {
  readonly transport: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A server that this installation runs as a process. Values of `env` may contain `{{secret:NAME}}`. */
export interface McpStdioSettings extends McpCommonSettings {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The address of a server, and how its tools are called. */
export type McpSettings = McpHttpSettings | McpStdioSettings;

/**
 * `new`: never accepted. `accepted`: the current definition is the accepted one. `changed`: the definition has changed, so the tool is not
 * offered. `gone`: accepted, and no longer listed by the server.
 */
export type McpToolStatus = 'new' | 'accepted' | 'changed' | 'gone';

/** A tool of a server, for the workspace. */
export interface McpTool {
  /** The server's name for the tool. */
  readonly name: string;
  /** The name that models use after acceptance. */
  readonly offeredAs: string;
  readonly status: McpToolStatus;
  /** Why it cannot be offered even if accepted; null: it can. */
  readonly problem: string | null;
  readonly effect: ToolEffect;
  /** The current definition of the server; `hash` is its fingerprint. */
  readonly definition: McpDefinition;
  readonly hash: string;
  /** The accepted definition; null: not accepted. */
  readonly acceptedDefinition: McpDefinition | null;
  /** `user:<id>` or `key:<id>`. */
  readonly acceptedBy: string | null;
  /** In ms since the epoch. */
  readonly acceptedAt: number | null;
}

/** An MCP server of a workspace. */
export interface McpServer {
  readonly id: string;
  readonly name: string;
  readonly settings: McpSettings;
  readonly enabled: boolean;
  /** Why the last listing failed or is incomplete; null: no problem, or no listing yet. */
  readonly problem: string | null;
  /** When its tools were last listed, in ms since the epoch. */
  readonly listedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** By name. */
  readonly tools: readonly McpTool[];
}
