import { tmpdir } from 'node:os';

import type { FetchLike, Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { type GuardedFetch, OUTBOUND_LIMITS, type OutboundLimits } from '#platform';

import { type CallInFlight, McpHttpTransport } from './mcp-http.transport.js';

/** Where a server is, every secret filled in. Made for one connection and kept nowhere else. */
export type McpEndpoint =
  | { readonly transport: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

/** Most bytes of one answer of a server. */
export const MAX_ANSWER_BYTES = 4_194_304;

/**
 * Streams stay open as long as a call runs, and a call is ended by its own signal: only size, hosts and addresses are the
 * guard's here. A redirect is followed by the client, within the origin, and goes through the guard again.
 */
const LIMITS: OutboundLimits = {
  ...OUTBOUND_LIMITS,
  maxBytes: MAX_ANSWER_BYTES,
  firstByteMs: null,
  idleMs: null,
  totalMs: null,
};

/** The guarded fetch as this module uses it. `hosts`: the workspace's allow list. */
export function mcpFetch(guard: GuardedFetch, hosts: readonly string[]): FetchLike {
  return guard.fetchWith({ hosts, limits: LIMITS });
}

/**
 * The way to a server; nothing is opened yet. A process gets a handful of harmless variables (PATH, HOME …) and those of its
 * settings, a temporary folder to be in, and nowhere to write its complaints.
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
