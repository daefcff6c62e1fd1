import type { OutboundRequest, Secret } from '#platform';
import { ToolArgumentsError } from '#tools';

import { bodyNames, fillBody } from './fill-body.js';
import { answerRefused } from './http.errors.js';
import type { HttpHeader, HttpTool, HttpVerify } from './http-tool.js';
import { type Arguments, argumentText, fillIn, placeholdersIn } from './placeholders.js';
import { fillSecrets, secretsIn, withoutSecrets } from './secret-references.js';
import { fillUrl, parseUrlTemplate } from './url-template.js';

/** What a request is made of besides its definition. */
export interface HttpCall {
  readonly args: Arguments;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly idempotencyKey: string;
  readonly epoch: number;
}

/** What is sent; where, how long and how much is the sender's to add. */
export type HttpRequest = Pick<OutboundRequest, 'method' | 'headers' | 'body'> & { readonly url: URL };

/** The secrets that a tool's requests need. */
export function secretNamesOf({ headers }: Pick<HttpTool, 'headers'>): readonly string[] {
  return [...new Set(headers.flatMap(({ value }) => secretsIn(value)))];
}

/**
 * The request of one call. It always carries `Idempotency-Key` and `X-Job-Epoch`. Throws `invalid_arguments` for arguments
 * that cannot stand where they should. Pure.
 */
export function toHttpRequest(tool: HttpTool, call: HttpCall): HttpRequest {
  const { url, used } = fillTemplate(tool.url, call.args);
  const inHeaders = tool.headers.flatMap(({ value }) => placeholdersIn(withoutSecrets(value, '')));
  const taken = new Set([...used, ...inHeaders, ...(tool.body === undefined ? [] : bodyNames(tool.body))]);
  const rest = Object.fromEntries(Object.entries(call.args).filter(([name]) => !taken.has(name)));
  const body = fillBody(tool.body ?? defaultBody(tool), call.args, rest);
  const type = body === null ? {} : { 'content-type': body.contentType };
  const headers = { ...type, ...ours(call), ...fillHeaders(tool.headers, call) };
  return { method: tool.method, url, headers, ...(body === null ? {} : { body: body.text }) };
}

/** The request that asks what became of a call; `call.args` hold its key and nothing else. Pure. */
export function toVerifyRequest(verify: HttpVerify, call: HttpCall): HttpRequest {
  const { url } = fillTemplate(verify.url, call.args);
  return { method: verify.method, url, headers: { ...ours(call), ...fillHeaders(verify.headers, call) } };
}

function fillTemplate(text: string, args: Arguments): { readonly url: URL; readonly used: readonly string[] } {
  const template = parseUrlTemplate(text);
  if (typeof template === 'string') throw answerRefused(`its URL cannot be used: ${template}`);
  return { url: fillUrl(template, args), used: template.names };
}

/** The default when a definition sets none: where a body is possible, it contains the remaining arguments. */
function defaultBody({ method }: HttpTool): { readonly type: 'none' | 'json' } {
  return { type: method === 'GET' || method === 'DELETE' ? 'none' : 'json' };
}

function ours({ idempotencyKey, epoch }: HttpCall): Readonly<Record<string, string>> {
  return { 'idempotency-key': idempotencyKey, 'x-job-epoch': String(epoch) };
}

/** A header whose argument is absent is not sent. */
function fillHeaders(headers: readonly HttpHeader[], { args, secrets }: HttpCall): Readonly<Record<string, string>> {
  const isWhole = ({ value }: HttpHeader): boolean =>
    placeholdersIn(withoutSecrets(value, '')).every((name) => argumentText(args, name) !== null);
  const secretOf = (name: string): string => {
    const value = secrets.get(name)?.reveal() ?? '';
    if (!/^[\t\x20-\x7e]*$/.test(value))
      throw answerRefused(`the secret "${name}" has characters that a header cannot contain`);
    return value;
  };
  const filled = headers.filter(isWhole).map(({ name, value }) => {
    const text = fillSecrets(value, secretOf, (between) => fillIn(between, args, headerText));
    return [name.toLowerCase(), text] as const;
  });
  return Object.fromEntries(filled);
}

/** A line break would begin another header (RFC 9110, 5.5). */
function headerText(value: string, name: string): string {
  if (/^[\t\x20-\x7e]*$/.test(value)) return value;
  throw new ToolArgumentsError(`invalid arguments: "${name}" has characters that a header cannot contain`);
}
