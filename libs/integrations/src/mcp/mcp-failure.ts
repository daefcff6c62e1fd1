import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';

import { OutboundError } from '#platform';

import { BROKEN_OFF, TOO_LARGE } from './mcp-http.transport.js';

/**
 * How an exchange with a server failed. `refused`: the response is an error. `session_lost`: the server no longer knows the session and did
 * nothing. `broken_off`: the server may have received the request, but no response arrived. `call_lost`: the same for a tool call, which may
 * have had its effect. `unusable`: the request was not sent, or its response is late, an HTTP error, too large or invalid. After any of these
 * except `refused`, the connection must not be used again.
 */
export type McpFailureKind = 'refused' | 'session_lost' | 'broken_off' | 'call_lost' | 'unusable';

/** An exchange with an MCP server failed. The message is for the model and for admins: a sentence without addresses and keys. */
export class McpFailure extends Error {
  override readonly name = 'McpFailure';

  constructor(
    readonly kind: McpFailureKind,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** The text that the model reads if a tool was not called. */
export const TOOL_CHANGED =
  'The definition of this tool has changed on the MCP server since it was accepted, so it was not called. ' +
  'An admin must review and accept it again.';
export const TOOL_GONE = 'The MCP server no longer offers this tool, so it was not called.';
export const SERVER_OFF = 'The MCP server of this tool was removed or switched off, so it was not called.';

const BROKEN = 'The connection to the MCP server broke off before it responded.';
const UNREADABLE = 'The MCP server cannot be reached, or its response is not MCP.';
const MAX_MESSAGE_LENGTH = 500;

/** Converts an error of the client, the guard or the operating system to a failure with a message of this server. */
export function toMcpFailure(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  const chain = [...chainOf(error)];
  for (const one of chain) {
    if (one instanceof OutboundError) return ofGuard(one, chain);
    if (one instanceof SdkHttpError) return ofStatus(one.status, error);
    if (one instanceof ProtocolError) return ofProtocol(one);
    if (codeOf(one) === 'ENOENT' || codeOf(one) === 'EACCES') {
      return new McpFailure('unusable', 'The command of the MCP server cannot be started.', error);
    }
  }
  return error instanceof SdkError ? ofClient(error) : new McpFailure('unusable', UNREADABLE, error);
}

/** With one of these causes, no connection was made, so the request was not sent. */
const NOT_ASKED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

function ofGuard(error: OutboundError, chain: readonly unknown[]): McpFailure {
  const { code, message } = error;
  const isBroken = code === 'outbound_broken' || code === 'outbound_unreachable';
  if (!isBroken || chain.some((one) => NOT_ASKED.has(codeOf(one)))) return new McpFailure('unusable', message, error);
  return new McpFailure('broken_off', BROKEN, error);
}

const SENTENCES: Partial<Record<SdkErrorCode, string>> = {
  [SdkErrorCode.NotConnected]: 'The connection to the MCP server broke off before the request was sent.',
  [SdkErrorCode.RequestTimeout]: 'The MCP server did not respond in time.',
  [SdkErrorCode.InvalidResult]: 'The response of the MCP server does not follow the protocol.',
  [SdkErrorCode.UnsupportedResultType]: 'The tool requests input from a person, which is not supported.',
};

function ofClient(error: SdkError): McpFailure {
  const { code } = error;
  if (code === SdkErrorCode.ConnectionClosed) return new McpFailure('broken_off', BROKEN, error);
  return new McpFailure('unusable', SENTENCES[code] ?? UNREADABLE, error);
}

/** Statuses of a proxy in front of the server. The request may have reached the server. */
const OF_GATEWAYS = new Set([502, 503, 504]);

function ofStatus(status: number, cause: unknown): McpFailure {
  const hint =
    status === 401 || status === 403 ? ' It requires other credentials: check the headers of the server.' : '';
  const message = `The MCP server responded with HTTP status ${status}.${hint}`;
  const kind = OF_GATEWAYS.has(status) ? 'broken_off' : status === 404 ? 'session_lost' : 'unusable';
  return new McpFailure(kind, message, cause);
}

function ofProtocol(error: ProtocolError): McpFailure {
  if (error.code === BROKEN_OFF) return new McpFailure('broken_off', BROKEN, error);
  if (error.code === TOO_LARGE) return new McpFailure('unusable', error.message.slice(0, MAX_MESSAGE_LENGTH), error);
  return new McpFailure('refused', `The MCP server refused: ${error.message.slice(0, MAX_MESSAGE_LENGTH)}`, error);
}

/** The error and its causes; the client sometimes stores a cause in `data`. */
function* chainOf(error: unknown): Generator {
  let one = error;
  for (let depth = 0; depth < 6 && one !== undefined && one !== null; depth++) {
    yield one;
    const { cause, data } = one as { readonly cause?: unknown; readonly data?: unknown }; // reading a member is safe for any object
    one = cause ?? (typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined);
  }
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
