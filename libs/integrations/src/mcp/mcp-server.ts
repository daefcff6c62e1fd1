import type { ToolEffect } from '#tools';

import type { McpDefinition } from './mcp-definition.js';

/** What holds for both kinds of server. */
interface McpCommonSettings {
  /** Ms until a call is aborted; null: the instance's default. */
  readonly timeoutMs: number | null;
  /** Whether calls go to the isolated tool queue, so that jobs wait for them without a slot. */
  readonly isolated: boolean;
  /** Whether `effect` and `effects` may also promise more than the server's own hints do. */
  readonly trusted: boolean;
  /** What calling any of its tools twice would do; null: what the tool's hints say. */
  readonly effect: ToolEffect | null;
  /** The same for single tools, by the server's names. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
}

/** A server that is asked over streamable HTTP. Header values may hold `{{secret:NAME}}`. */
export interface McpHttpSettings extends McpCommonSettings {
  readonly transport: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A server that is a process of ours. Values of `env` may hold `{{secret:NAME}}`. */
export interface McpStdioSettings extends McpCommonSettings {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where a server is and how its tools are called. */
export type McpSettings = McpHttpSettings | McpStdioSettings;

/**
 * `new`: never accepted. `accepted`: as it was accepted. `changed`: its definition is another one by now, so it is not offered.
 * `gone`: accepted, and the server does not list it any more.
 */
export type McpToolStatus = 'new' | 'accepted' | 'changed' | 'gone';

/** A tool of a server as the workspace sees it. */
export interface McpTool {
  /** The server's name for it. */
  readonly name: string;
  /** The name under which models see it, once accepted. */
  readonly offeredAs: string;
  readonly status: McpToolStatus;
  /** Why it cannot be offered even when accepted; null: it can. */
  readonly problem: string | null;
  readonly effect: ToolEffect;
  /** As the server last described it, and its fingerprint. */
  readonly definition: McpDefinition;
  readonly hash: string;
  /** The definition as an admin accepted it; null: not accepted. */
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
  /** Why the last listing failed or is not complete; null: it was fine, or there was none yet. */
  readonly problem: string | null;
  /** When its tools were last listed, in ms since the epoch. */
  readonly listedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** By name. */
  readonly tools: readonly McpTool[];
}
