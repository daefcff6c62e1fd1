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

import { remedyOf } from '../http/remedy-of.js';
import { fillSecrets } from '../http/secret-references.js';
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

/** A call of a tool of a server. */
export interface GatewayCall {
  readonly workspaceId: string;
  readonly serverId: string;
  /** As it was accepted. */
  readonly definition: McpDefinition;
  readonly hash: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly context: Pick<ToolContext, 'idempotencyKey' | 'epoch' | 'signal' | 'progress'>;
}

const UNKNOWN = 'Its tools cannot be listed.';
const LONGEST_MESSAGE = 1_000;

/**
 * The way from a workspace to its MCP servers: settings as they are now, secrets opened for as long as they are needed, the guard,
 * and the shared sessions. What servers list is written down whenever it is heard.
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
   * Calls a tool and gives text or a JSON value, without the secrets of the server. Throws errors whose message is for the
   * model, `ToolOutcomeUnknown` when the connection broke in the middle. Nothing was called when the server is off, has moved
   * on from the accepted definition, or lost a secret.
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

  /** Asks the server for its tools now. What it answers, or why it does not, is on its row afterwards; throws nothing of it. */
  async refresh(workspaceId: string, serverId: string, signal: AbortSignal): Promise<void> {
    const server = await this.listings.reachable(workspaceId, serverId);
    if (server === null) return;
    try {
      await this.withSession(server, signal, (session) => session.refresh());
    } catch (error) {
      const problem = problemOf(error);
      // Not the error: it may hold what the server was sent, and its secrets are closed by now.
      this.logger.info({ serverId, workspaceId, problem }, 'an MCP server could not be listed');
      await this.listings.storeProblem(server, problem);
    }
  }

  /** Throws `mcp_stdio_disabled` for a server that is a process where the operator allows none. */
  assertAllowed({ transport }: Pick<McpSettings, 'transport'>): void {
    if (transport === 'stdio' && !this.config.values.MCP_STDIO) throw mcpStdioDisabled();
  }

  /** This process starts no new call to this server over the connection that is open now. */
  forget(workspaceId: string, serverId: string): void {
    this.sessions.forget({ workspaceId, serverId });
  }

  /** Ends all connections and processes. After the worker has drained. */
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
      // A server may report a change while this tool process has no call of the workspace: the next listing is written.
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

/** For people: includes what would help, which the model does not get. */
function problemOf(error: unknown): string {
  if (!(error instanceof McpFailure || error instanceof AppError)) return UNKNOWN;
  const remedy = remedyOf(error instanceof McpFailure ? error.cause : error);
  return remedy === null ? error.message : `${error.message} ${remedy}`;
}

/** A server that echoes what it was sent may do so in an error, too. */
function redacted(error: unknown, redact: OpenSecrets['redact']): unknown {
  if (error instanceof McpFailure && error.kind === 'call_lost') return new ToolOutcomeUnknown(redact(error.message));
  if (error instanceof McpFailure) return new McpFailure(error.kind, redact(error.message), error.cause);
  return error instanceof McpToolFailed ? new McpToolFailed(redact(error.message)) : error;
}

/** Redacted before it is cut, so that no half of a secret is left at the end. */
function redactedProgress(
  { progress }: Pick<ToolContext, 'progress'>,
  redact: OpenSecrets['redact'],
): ToolContext['progress'] {
  return ({ message, ...numbers }) => {
    const shown = message === undefined ? {} : { message: toStorableText(redact(message).slice(0, LONGEST_MESSAGE)) };
    progress({ ...numbers, ...shown });
  };
}

/** The tool ran and reports that it failed; the message is its text. */
export class McpToolFailed extends Error {
  override readonly name = 'McpToolFailed';
}

/**
 * What a model gets of a tool's answer (MCP, tools, 2025-11-25 and 2026-07-28). The structured content where the accepted
 * definition has an output schema; else the content as text, a blank line between its parts, and the structured content only
 * when it has no text. Text of any kind is stored whole; images, sound and other bytes become one line with type and size.
 * Throws `McpToolFailed` for `isError`.
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

const LONGEST_WORD = 500;

/** A name on one line, so that it cannot look like more than it is. */
function word(text: string | undefined): string {
  return (text ?? '')
    .replace(/[\p{Cc}[\]]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_WORD);
}

/** How many bytes base64 text stands for. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}
