import {
  type CallToolResult,
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';

import { defined } from '#platform';
import { compileSchema, type SchemaCheck, type ToolContext } from '#tools';

import { type ListedTool, type McpDefinition, toListedTool } from './mcp-definition.js';
import { McpFailure, toMcpFailure } from './mcp-failure.js';
import { type CallInFlight, KEY_HEADER } from './mcp-http.transport.js';

/** The tools that a server listed. */
export interface McpListing {
  readonly tools: readonly ListedTool[];
  /** Why the list is incomplete; null: it is complete. */
  readonly problem: string | null;
}

/** A call of a tool. */
export interface McpCall {
  /** The accepted definition. */
  readonly definition: McpDefinition;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly context: Pick<ToolContext, 'idempotencyKey' | 'epoch' | 'signal' | 'progress'>;
}

/** The dependencies of a connection. */
export interface McpConnectionParts {
  readonly transport: Transport;
  /** The calls in flight, by idempotency key, for the transport. */
  readonly calls: Map<string, CallInFlight>;
  /** Runs when the server notifies that its tools have changed. */
  readonly toolsChanged: () => void;
  /** Runs once, when the connection is lost. */
  readonly closed: () => void;
  /** Timeout in ms for the connection and for each page of tools. Default 10 s. */
  readonly timeoutMs?: number;
}

/** Keys in `_meta` of a call, by which a server can distinguish a repetition from a new call. */
const KEY_META = 'nightshift/idempotencyKey';
const EPOCH_META = 'nightshift/jobEpoch';

/** Maximum number of tools of a server, and of pages of its list. */
export const MAX_TOOLS = 200;
const MAX_PAGES = 50;
/** Maximum size of all definitions of a server together, as JSON bytes: people review them, and models may read all of them. */
const MAX_LISTING_BYTES = 1_048_576;
const TIMEOUT_MS = 10_000;
/** An old server may ignore the probe; after this time, the legacy handshake is used. */
const PROBE_MS = 3_000;
/** The signal of the call ends it. This value only prevents the client's default timeout of a minute. */
const MAX_CALL_MS = 2 ** 31 - 1;

/**
 * A connection to one server for one workspace, over the official client. It offers the server no capabilities (no sampling, no roots, no
 * elicitation) and no credentials except the headers or environment that the workspace has configured. Methods throw `McpFailure`.
 */
export class McpConnection {
  private constructor(
    private readonly client: Client,
    private readonly parts: McpConnectionParts,
  ) {}

  /** Uses protocol 2026-07-28 if the server supports it, otherwise the protocol of 2025. After an error, nothing stays open. */
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

  /** Lists all tools, page by page, at most `MAX_TOOLS`. */
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
      if (cursor === undefined)
        return { tools: [...tools.values()], problem: skipped === 0 ? null : skippedToolsText(skipped) };
    }
    return { tools: [...tools.values()], problem: TOO_MUCH };
  }

  /**
   * Calls a tool. An abort of the signal notifies the server and rejects at once, without waiting for the server. Structured content that
   * does not match the accepted output schema is a failure.
   */
  async call({ definition, arguments: args, context }: McpCall): Promise<CallToolResult> {
    const { idempotencyKey, epoch, signal } = context;
    const stop = new AbortController();
    const onStop = () => {
      stop.abort('The call was stopped.'); // the server does not need the actual reason
    };
    signal.throwIfAborted();
    const { sessionId } = this.parts.transport;
    signal.addEventListener('abort', onStop, { once: true });
    this.parts.calls.set(idempotencyKey, { signal: stop.signal });
    try {
      return await this.client.callTool(
        { name: definition.name, arguments: args, _meta: { [KEY_META]: idempotencyKey, [EPOCH_META]: epoch } },
        {
          signal: stop.signal,
          timeout: MAX_CALL_MS,
          onprogress: progressTo(context),
          headers: { [KEY_HEADER]: idempotencyKey, 'X-Job-Epoch': String(epoch) },
          toolDefinition: definition as Tool, // the listing has validated it
        },
      );
    } catch (error) {
      throw ofCall(toMcpFailure(error), sessionId);
    } finally {
      signal.removeEventListener('abort', onStop);
      this.parts.calls.delete(idempotencyKey);
    }
  }

  /** Ends all pending requests. Idempotent. */
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
const skippedToolsText = (skipped: number) =>
  `${skipped} of its tools cannot be listed: their name or definition is not usable.`;

/** Without a session, none can be lost: a 404 is then an ordinary response, and does not prove that the tool did not run. */
function ofCall(failure: McpFailure, sessionId: string | undefined): McpFailure {
  if (failure.kind !== 'session_lost' || sessionId !== undefined) return failure;
  return new McpFailure('unusable', failure.message, failure);
}

function progressTo({ progress: report }: Pick<ToolContext, 'progress'>) {
  return ({
    progress,
    total,
    message,
  }: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => {
    report({
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
 * Validates structured content with the compiler of this server (linear patterns, no fetching) instead of the client's. A schema that cannot
 * be compiled accepts any content.
 */
const schemaValidator: jsonSchemaValidator = {
  getValidator<T>(schema: object): JsonSchemaValidator<T> {
    const check = checkOf({ ...schema });
    return (input) => {
      const problems = check(input);
      return problems.length === 0
        ? { valid: true, data: input as T, errorMessage: undefined } // valid for the schema that T describes
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
