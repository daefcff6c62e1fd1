import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';

import {
  AppError,
  CallNotClaimed,
  Config,
  GuardedFetch,
  LOGGER,
  type Logger,
  systemClock,
  toStorableText,
} from '#platform';
import { type ToolContext, ToolOutcomeUnknown } from '#tools';

import { fillSecrets } from '../http/secret-references.js';
import { settingHintOf } from '../http/setting-hint-of.js';
import { type OpenSecrets, WorkspaceSecrets } from '../secrets/workspace-secrets.service.js';
import { mcpStdioDisabled } from './mcp.errors.js';
import type { McpDefinition } from './mcp-definition.js';
import { McpFailure, SERVER_OFF } from './mcp-failure.js';
import { McpListingsRepository, type McpReachable } from './mcp-listings.repository.js';
import type { McpSettings } from './mcp-server.js';
import { McpSession } from './mcp-session.js';
import { McpSessions, type McpTarget } from './mcp-sessions.js';
import { secretsOf } from './mcp-settings.js';
import { type McpEndpoint, mcpFetch } from './mcp-transport.js';

/** A call of a tool of an MCP server. */
export interface GatewayCall {
  readonly workspaceId: string;
  readonly serverId: string;
  /** The accepted definition. */
  readonly definition: McpDefinition;
  readonly hash: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly context: Pick<ToolContext, 'idempotencyKey' | 'epoch' | 'signal' | 'progress'>;
}

const UNKNOWN = 'Its tools cannot be listed.';
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * Connects a workspace to its MCP servers with the current settings, secrets that are decrypted only while they are in use, the guarded
 * client, and shared sessions. Every listing of tools is stored.
 */
@Injectable()
export class McpGateway implements OnApplicationShutdown {
  private readonly sessions = new McpSessions((target) => this.connect(target), { clock: systemClock });

  constructor(
    private readonly listings: McpListingsRepository,
    private readonly secrets: WorkspaceSecrets,
    private readonly guard: GuardedFetch,
    private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Calls a tool and returns text or a JSON value, without the secrets of the server. Throws errors whose message the model reads, and
   * `ToolOutcomeUnknown` if the connection broke during the call. Does not call the tool if the server is disabled, the definition differs
   * from the accepted one, or a secret is missing.
   */
  async call({ workspaceId, serverId, hash, definition, context, arguments: args }: GatewayCall): Promise<unknown> {
    const server = await this.listings.reachable(workspaceId, serverId);
    if (server?.enabled !== true) throw new McpFailure('refused', SERVER_OFF);
    return this.withSession(server, context.signal, async (session, redact) => {
      const progress = redactedProgress(context, redact);
      const result = await session.call(hash, { definition, arguments: args, context: { ...context, progress } });
      const answer = toToolResult(result, definition.outputSchema !== undefined);
      return redact(typeof answer === 'string' ? answer : JSON.stringify(answer));
    });
  }

  /** Asks the server for its tools now. Stores the list, or the problem, in the row of the server. Failures of the server do not throw. */
  async refresh(workspaceId: string, serverId: string, signal: AbortSignal): Promise<void> {
    const server = await this.listings.reachable(workspaceId, serverId);
    if (server === null) return;
    try {
      await this.withSession(server, signal, (session) => session.refresh());
    } catch (error) {
      const problem = problemOf(error);
      // The error itself is not logged: it may contain the request, and its secrets are no longer known to the redactor.
      this.logger.info({ serverId, workspaceId, problem }, 'an MCP server could not be listed');
      await this.listings.storeProblem(server, problem);
    }
  }

  /** Throws `mcp_stdio_disabled` for a server that is a process, if the operator does not allow processes. */
  assertAllowed({ transport }: Pick<McpSettings, 'transport'>): void {
    if (transport === 'stdio' && !this.config.values.MCP_STDIO) throw mcpStdioDisabled();
  }

  /** This process makes no new calls over the open session with this server. */
  forget(workspaceId: string, serverId: string): void {
    this.sessions.forget({ workspaceId, serverId });
  }

  /** Ends all connections and processes. Runs after the worker has drained. */
  async onApplicationShutdown(): Promise<void> {
    await this.sessions.close();
  }

  private async withSession<T>(
    server: McpReachable,
    signal: AbortSignal,
    run: (session: McpSession, redact: OpenSecrets['redact']) => Promise<T>,
  ): Promise<T> {
    const { settings, workspaceId } = server;
    this.assertAllowed(settings);
    return this.secrets.use(workspaceId, secretsOf(settings), async ({ values, redact }) => {
      const target = { server, endpoint: toEndpoint(settings, values) };
      try {
        return await this.sessions.use(target, signal, (session) => run(session, redact));
      } catch (error) {
        throw redacted(error, redact);
      }
    });
  }

  private connect({ server, endpoint }: McpTarget): Promise<McpSession> {
    return McpSession.open({
      endpoint,
      fetch: mcpFetch(this.guard, server.hosts),
      clock: systemClock,
      // A server may report a change while this tool process has no call in the workspace. The process then cannot store the list, and the
      // next listing is stored.
      listed: (listing) => this.listings.store(server, listing).catch(ignoreUnclaimed),
    });
  }
}

function ignoreUnclaimed(error: unknown): void {
  if (!(error instanceof CallNotClaimed)) throw error;
}

function toEndpoint(settings: McpSettings, values: OpenSecrets['values']): McpEndpoint {
  const secretOf = (name: string) => values.get(name)?.reveal() ?? '';
  const asItIs = (text: string) => text;
  const filled = (given: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [name, fillSecrets(value, secretOf, asItIs)]));
  if (settings.transport === 'http') {
    return { transport: 'http', url: settings.url, headers: filled(settings.headers) };
  }
  const { command, args, env } = settings;
  return { transport: 'stdio', command, args, env: filled(env) };
}

/** The message for people. It includes the setting that would help, which the model does not read. */
function problemOf(error: unknown): string {
  if (!(error instanceof McpFailure || error instanceof AppError)) return UNKNOWN;
  const remedy = settingHintOf(error instanceof McpFailure ? error.cause : error);
  return remedy === null ? error.message : `${error.message} ${remedy}`;
}

/** A server may echo the request, with its secrets, in an error. */
function redacted(error: unknown, redact: OpenSecrets['redact']): unknown {
  if (error instanceof McpFailure && error.kind === 'call_lost') return new ToolOutcomeUnknown(redact(error.message));
  if (error instanceof McpFailure) return new McpFailure(error.kind, redact(error.message), error.cause);
  return error instanceof McpToolFailed ? new McpToolFailed(redact(error.message)) : error;
}

/** The message is redacted before it is cut, so that the cut cannot leave half of a secret. */
function redactedProgress(
  { progress }: Pick<ToolContext, 'progress'>,
  redact: OpenSecrets['redact'],
): ToolContext['progress'] {
  return ({ message, ...numbers }) => {
    const shown =
      message === undefined ? {} : { message: toStorableText(redact(message).slice(0, MAX_MESSAGE_LENGTH)) };
    progress({ ...numbers, ...shown });
  };
}

/** The tool ran and reported a failure; the message is its text. */
export class McpToolFailed extends Error {
  override readonly name = 'McpToolFailed';
}

/**
 * Converts a tool's response to the result that the model reads (MCP, tools, 2025-11-25 and 2026-07-28). If the accepted definition has an
 * output schema, the result is the structured content. Otherwise it is the content as text, with a blank line between parts, or the
 * structured content if there is no text. Text of any kind is included completely; an image, audio or other binary part becomes one line with
 * type and size. Throws `McpToolFailed` for `isError`.
 */
export function toToolResult(result: CallToolResult, hasOutputSchema: boolean): unknown {
  const { content, structuredContent, isError } = result;
  const text = content.map(textOf).join('\n\n');
  if (isError === true) throw new McpToolFailed(text === '' ? 'the tool failed without a reason' : text);
  if (structuredContent !== undefined && (hasOutputSchema || text === '')) return structuredContent;
  return text;
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type}: ${word(block.mimeType)}, ${bytesOf(block.data)} bytes, not shown]`;
    case 'resource_link': {
      const { name, title, uri, mimeType, size, description } = block;
      const facts = [word(title ?? name), word(uri), word(mimeType), size === undefined ? '' : `${size} bytes`];
      const line = `[resource link: ${facts.filter((fact) => fact !== '').join(', ')}]`;
      return description === undefined ? line : `${line}\n${description}`;
    }
    case 'resource': {
      const { resource } = block;
      const facts = [word(resource.uri), word(resource.mimeType)].filter((fact) => fact !== '').join(', ');
      if ('text' in resource) return `[resource: ${facts}]\n${resource.text}`;
      return `[resource: ${facts}, ${bytesOf(resource.blob)} bytes, not shown]`;
    }
  }
}

const MAX_WORD_LENGTH = 500;

/** Puts a name on one line, so that it cannot imitate other content. */
function word(text: string | undefined): string {
  return (text ?? '')
    .replace(/[\p{Cc}[\]]+/gu, ' ')
    .trim()
    .slice(0, MAX_WORD_LENGTH);
}

/** The number of bytes in a base64 text. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}
