import { tmpdir } from 'node:os';

import type { FetchLike, Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { type GuardedFetch, OUTBOUND_LIMITS, type OutboundLimits } from '#platform';

import { type CallInFlight, McpHttpTransport } from './mcp-http.transport.js';

/** The address of a server, with all secrets filled in. Made for one connection and stored nowhere. */
export type McpEndpoint =
  | { readonly transport: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

/** Maximum size of a response of a server, in bytes. */
export const MAX_ANSWER_BYTES = 4_194_304;

/**
 * The limits of the guard. Streams stay open as long as a call runs, and the signal of the call ends it, so the guard limits only size, hosts
 * and addresses. The client follows redirects within the origin, and each passes the guard again.
 */
const LIMITS: OutboundLimits = {
  ...OUTBOUND_LIMITS,
  maxBytes: MAX_ANSWER_BYTES,
  firstByteMs: null,
  idleMs: null,
  totalMs: null,
};

/** The guarded fetch function for this module. `hosts`: the workspace's list of allowed hosts. */
export function mcpFetch(guard: GuardedFetch, hosts: readonly string[]): FetchLike {
  return guard.fetchWith({ hosts, limits: LIMITS });
}

/**
 * Makes the transport to a server, without opening it. A process gets a few harmless variables (PATH, HOME …) and those of its settings, and
 * a temporary working directory; its stderr is discarded.
 */
export function toTransport(endpoint: McpEndpoint, fetch: FetchLike) {
  const calls = new Map<string, CallInFlight>();
  return { transport: transportTo(endpoint, fetch, calls), calls };
}

function transportTo(endpoint: McpEndpoint, fetch: FetchLike, calls: ReadonlyMap<string, CallInFlight>): Transport {
  if (endpoint.transport === 'http') return McpHttpTransport.to({ ...endpoint, fetch }, calls);
  const { command, args, env } = endpoint;
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    cwd: tmpdir(),
    stderr: 'ignore',
    maxBufferSize: MAX_ANSWER_BYTES,
  });
}
