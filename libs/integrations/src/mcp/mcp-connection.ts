import {
  type CallToolResult,
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';

import type { OutboundError } from '#platform';
import { defined } from '#platform';
import { compileSchema, type SchemaCheck, type ToolContext } from '#tools';

import { type ListedTool, type McpDefinition, toListedTool } from './mcp-definition.js';
import { McpFailure, toMcpFailure } from './mcp-failure.js';
import { type CallInFlight, KEY_HEADER } from './mcp-http.transport.js';

/** All that a server was ready to tell of its tools. */
export interface McpListing {
  readonly tools: readonly ListedTool[];
  /** Why some are missing; null: none are. */
  readonly problem: string | null;
}

/** A call to be made. */
export interface McpCall {
  /** As it was accepted. */
  readonly definition: McpDefinition;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly context: Pick<ToolContext, 'idempotencyKey' | 'epoch' | 'signal' | 'progress'>;
}

/** What a connection is made of. */
export interface McpConnectionParts {
  readonly transport: Transport;
  /** Where calls in flight are written down for the transport. */
  readonly calls: Map<string, CallInFlight>;
  /** Runs when the server notifies that its tools have changed. */
  readonly toolsChanged: () => void;
  /** Runs once, when the connection is lost. */
  readonly closed: () => void;
  /** How long to wait for the connection, and for a page of its tools, ms. Default 10 s. */
  readonly timeoutMs?: number;
}

/** Names of what goes along in `_meta` of a call, so that a server can tell a repetition from a new call. */
const KEY_META = 'nightshift/idempotencyKey';
const EPOCH_META = 'nightshift/jobEpoch';

/** Most tools of a server, and most pages they may come on. */
export const MAX_TOOLS = 200;
const MAX_PAGES = 50;
/** Most bytes of JSON of all its definitions together: people look at them all, and models may be shown them all. */
const MAX_LISTING_BYTES = 1_048_576;
const TIMEOUT_MS = 10_000;
/** An old server may ignore the probe; after this time, the legacy handshake is used. */
const PROBE_MS = 3_000;
/** The call's own signal ends it; this only keeps the client's default of a minute from doing so first. */
const LONGEST_CALL_MS = 2 ** 31 - 1;

/**
 * A connection to one server for one workspace, over the official client. It offers the server nothing: no sampling, no roots,
 * no questions to people, and no credentials but the headers or environment that the workspace has set up. Methods throw
 * `McpFailure`.
 */
export class McpConnection {
  private constructor(
    private readonly client: Client,
    private readonly parts: McpConnectionParts,
  ) {}

  /** Speaks 2026-07-28 with servers that do, else the protocol of 2025. After any error it leaves nothing open. */
  static async open(parts: McpConnectionParts): Promise<McpConnection> {
    const timeout = parts.timeoutMs ?? TIMEOUT_MS;
    const client = new Client(
      { name: 'nightshift', version: '1' },
      {
        capabilities: {},
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: schemaValidator,
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(timeout, PROBE_MS) } },
        listChanged: { tools: { autoRefresh: false, onChanged: parts.toolsChanged } },
      },
    );
    client.onclose = parts.closed;
    try {
      await client.connect(parts.transport, { timeout });
    } catch (error) {
      await close(client);
      throw toMcpFailure(error);
    }
    return new McpConnection(client, parts);
  }

  /** All tools, page by page; no more than `MAX_TOOLS`. */
  async list(): Promise<McpListing> {
    const tools = new Map<string, ListedTool>();
    let skipped = 0;
    let bytes = 0;
    let cursor: string | undefined;
    if (this.client.getServerCapabilities()?.tools === undefined) return { tools: [], problem: 'It has no tools.' };
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.listPage(cursor);
      for (const tool of answer.tools) {
        const listed = toListedTool(tool);
        bytes += Buffer.byteLength(JSON.stringify(listed?.definition ?? ''));
        if (tools.size === MAX_TOOLS || bytes > MAX_LISTING_BYTES)
          return { tools: [...tools.values()], problem: TOO_MUCH };
        if (listed === null || tools.has(listed.definition.name)) skipped++;
        else tools.set(listed.definition.name, listed);
      }
      cursor = answer.nextCursor;
      if (cursor === undefined) return { tools: [...tools.values()], problem: skipped === 0 ? null : tell(skipped) };
    }
    return { tools: [...tools.values()], problem: TOO_MUCH };
  }

  /**
   * Calls a tool. An abort of the signal notifies the server and rejects at once, without waiting for it. Structured content
   * that does not fit the accepted output schema is a failure.
   */
  async call({ definition, arguments: args, context }: McpCall): Promise<CallToolResult> {
    const { idempotencyKey, epoch, signal } = context;
    const stop = new AbortController();
    let failure: OutboundError | undefined;
    const onStop = () => {
      stop.abort('The call was stopped.'); // the server does not need the true reason
    };
    const tooLarge = (error: OutboundError) => {
      failure ??= error;
      onStop();
    };
    signal.throwIfAborted();
    const { sessionId } = this.parts.transport;
    signal.addEventListener('abort', onStop, { once: true });
    this.parts.calls.set(idempotencyKey, { signal: stop.signal, tooLarge });
    try {
      return await this.client.callTool(
        { name: definition.name, arguments: args, _meta: { [KEY_META]: idempotencyKey, [EPOCH_META]: epoch } },
        {
          signal: stop.signal,
          timeout: LONGEST_CALL_MS,
          onprogress: progressTo(context),
          headers: { [KEY_HEADER]: idempotencyKey, 'X-Job-Epoch': String(epoch) },
          toolDefinition: definition as Tool, // it was one when it was listed
        },
      );
    } catch (error) {
      throw ofCall(toMcpFailure(failure ?? error), sessionId);
    } finally {
      signal.removeEventListener('abort', onStop);
      this.parts.calls.delete(idempotencyKey);
    }
  }

  /** Ends everything that is under way. May be called again. */
  async close(): Promise<void> {
    await close(this.client);
  }

  private async listPage(cursor: string | undefined) {
    try {
      const params = cursor === undefined ? {} : { cursor };
      return await this.client.request(
        { method: 'tools/list', params },
        { timeout: this.parts.timeoutMs ?? TIMEOUT_MS },
      );
    } catch (error) {
      throw toMcpFailure(error);
    }
  }
}

const TOO_MUCH = `Not all of its tools are listed: they are more than ${MAX_TOOLS}, or too large together.`;
const tell = (skipped: number) => `${skipped} of its tools cannot be listed: their name or definition is not usable.`;

/** Without a session none was lost: a 404 is a response like any other, and does not prove that the tool did not run. */
function ofCall(failure: McpFailure, sessionId: string | undefined): McpFailure {
  if (failure.kind !== 'session_lost' || sessionId !== undefined) return failure;
  return new McpFailure('unusable', failure.message, failure);
}

function progressTo({ progress: tell }: Pick<ToolContext, 'progress'>) {
  return ({
    progress,
    total,
    message,
  }: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => {
    tell({
      ...(Number.isFinite(progress) ? { progress } : {}),
      ...(total !== undefined && Number.isFinite(total) ? { total } : {}),
      ...defined({ message }),
    });
  };
}

async function close(client: Client): Promise<void> {
  await client.close().catch(() => undefined);
}

/**
 * Checks structured content with our own compiler (linear patterns, nothing fetched) instead of the client's. A schema that
 * cannot be compiled promises nothing: then any content will do.
 */
const schemaValidator: jsonSchemaValidator = {
  getValidator<T>(schema: object): JsonSchemaValidator<T> {
    const check = checkOf({ ...schema });
    return (input) => {
      const problems = check(input);
      return problems.length === 0
        ? { valid: true, data: input as T, errorMessage: undefined } // valid by the schema that T stands for
        : { valid: false, data: undefined, errorMessage: problems.join('; ') };
    };
  },
};

function checkOf(schema: Readonly<Record<string, unknown>>): SchemaCheck {
  try {
    return compileSchema(schema);
  } catch {
    return () => [];
  }
}
