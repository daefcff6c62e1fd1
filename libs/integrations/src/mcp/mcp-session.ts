import type { CallToolResult, FetchLike } from '@modelcontextprotocol/client';

import type { Clock } from '#platform';

import { type McpCall, McpConnection, type McpListing } from './mcp-connection.js';
import { McpFailure, TOOL_CHANGED, TOOL_GONE } from './mcp-failure.js';
import { type McpEndpoint, toTransport } from './mcp-transport.js';

/** The options of a session. */
export interface McpSessionInit {
  readonly endpoint: McpEndpoint;
  readonly fetch: FetchLike;
  readonly clock: Clock;
  /** Runs after each listing, before callers get the result. */
  readonly listed: (listing: McpListing) => Promise<void>;
  /** See `McpConnectionParts`. */
  readonly timeoutMs?: number;
}

/** How long a listing stays valid when the server sets no time, ms. */
const LISTING_FRESH_MS = 300_000;

const UNKNOWN_END = ' Whether the tool ran is not known.';

/**
 * A connection and the current tools of its server. The session lists the tools when it opens, when the server reports a change, after five
 * minutes, and on request. It never calls a tool whose definition differs from the accepted one.
 */
export class McpSession {
  private listing: Promise<McpListing> = Promise.resolve(NOTHING);
  private next: Promise<McpListing> | undefined;
  private listedAt = 0;
  private closed = false;

  private constructor(
    private readonly connection: McpConnection,
    private readonly init: McpSessionInit,
  ) {}

  /** Connects and lists the tools. Throws `McpFailure`; then nothing stays open. */
  static async open(init: McpSessionInit): Promise<McpSession> {
    const { transport, calls } = toTransport(init.endpoint, init.fetch);
    const opened: { session?: McpSession } = {};
    const toolsChanged = () => {
      opened.session?.refresh().catch(() => undefined); // the next call encounters the same failure and reports it
    };
    const closed = () => {
      if (opened.session !== undefined) opened.session.closed = true;
    };
    const timeout = init.timeoutMs === undefined ? {} : { timeoutMs: init.timeoutMs };
    const connection = await McpConnection.open({ transport, calls, toolsChanged, closed, ...timeout });
    const session = new McpSession(connection, init);
    opened.session = session;
    try {
      await session.refresh();
      return session;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Whether the connection has ended, from either side. */
  get isClosed(): boolean {
    return this.closed;
  }

  /** Lists the tools again; callers that wait for a pending listing share it. Throws `McpFailure`. */
  refresh(): Promise<McpListing> {
    if (this.next !== undefined) return this.next;
    const before = this.listing.then(done, done);
    const next = before.then(() => this.read());
    this.next = next;
    this.listing = next;
    return next;
  }

  /** Calls the tool if the server still lists it with `hash`, after a pending listing. Throws `McpFailure` with the text for the model. */
  async call(hash: string, call: McpCall): Promise<CallToolResult> {
    const isOld = this.init.clock.monotonic() - this.listedAt > LISTING_FRESH_MS;
    const { tools } = await (isOld ? this.refresh() : this.listing);
    const listed = tools.find((tool) => tool.definition.name === call.definition.name);
    if (listed === undefined) throw new McpFailure('refused', TOOL_GONE);
    if (listed.hash !== hash) throw new McpFailure('refused', TOOL_CHANGED);
    try {
      return await this.connection.call(call);
    } catch (error) {
      if (!(error instanceof McpFailure) || error.kind !== 'broken_off') throw error;
      throw new McpFailure('call_lost', error.message + UNKNOWN_END, error);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.connection.close();
  }

  private async read(): Promise<McpListing> {
    this.next = undefined;
    const listing = await this.connection.list();
    this.listedAt = this.init.clock.monotonic();
    await this.init.listed(listing);
    return listing;
  }
}

const NOTHING: McpListing = { tools: [], problem: null };
const done = (): void => undefined;
