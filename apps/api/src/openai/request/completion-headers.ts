import type { IncomingHttpHeaders } from 'node:http';

import { OpenAiError } from '../../errors/openai-error.js';
import type { AnswerFormat } from '../answer/answer-part.js';

/** The parsed headers of a completion. */
export interface CompletionHeaders {
  /** Null: the request names no format. */
  readonly format: AnswerFormat | null;
  /** The value of `X-Session-Id`. */
  readonly sessionId: string | null;
  /** The conversation's id as chat front ends send it. It names a session except in strict mode. */
  readonly frontEndSessionId: string | null;
  readonly idempotencyKey: string | null;
  readonly onDisconnect: 'continue' | 'cancel';
}

type Headers = IncomingHttpHeaders;

const sessionIdShape = /^[\x21-\x7e]{1,200}$/;
const keyShape = /^[\x21-\x7e]{1,255}$/;
const frontEndHeaders = ['x-librechat-conversation-id', 'x-openwebui-chat-id'];

/** Throws `OpenAiError`, and nothing else. Pure. */
export function parseCompletionHeaders(headers: Headers): CompletionHeaders {
  return {
    format: parseFormat(headers),
    sessionId: parse(headers, 'X-Session-Id', sessionIdShape),
    frontEndSessionId: firstThatFits(headers, frontEndHeaders, sessionIdShape),
    // `X-Client-Request-Id` is a trace id: clients reuse it for many requests, so it cannot be an idempotency key.
    idempotencyKey: parse(headers, 'Idempotency-Key', keyShape),
    onDisconnect: textOf(headers, 'x-on-disconnect')?.toLowerCase() === 'cancel' ? 'cancel' : 'continue',
  };
}

function parseFormat(headers: Headers): AnswerFormat | null {
  const header = 'x-tool-event-format';
  const given = textOf(headers, header);
  if (given === undefined) return null;
  const format = given.toLowerCase();
  if (format === 'inline' || format === 'open-webui' || format === 'none' || format === 'openai') return format;
  throw new OpenAiError({ status: 400, message: `Unsupported X-Tool-Event-Format: ${given}`, param: header });
}

function parse(headers: Headers, name: string, shape: RegExp): string | null {
  const given = textOf(headers, name.toLowerCase());
  if (given === undefined) return null;
  if (shape.test(given)) return given;
  throw new OpenAiError({ status: 400, message: `Invalid ${name}`, param: name.toLowerCase() });
}

function firstThatFits(headers: Headers, names: readonly string[], shape: RegExp): string | null {
  return names.map((name) => textOf(headers, name)).find((given) => given !== undefined && shape.test(given)) ?? null;
}

function textOf(headers: Headers, name: string): string | undefined {
  const given = headers[name];
  return typeof given === 'string' ? given : given?.join(', ');
}
