import { Injectable } from '@nestjs/common';

import {
  AppError,
  GuardedFetch,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
  type Secret,
} from '#platform';
import { ToolArgumentsError, type ToolContext, ToolOutcomeUnknown, type Verification } from '#tools';

import { type OpenSecrets, WorkspaceSecrets } from '../secrets/workspace-secrets.service.js';
import { bodyNames, bodyTexts, fillBody } from './fill-body.js';
import { answerRefused } from './http.errors.js';
import { type HttpHeader, type HttpTool, type HttpVerify, KEY_ARGUMENT } from './http-tool.js';
import { OutboundHostsRepository } from './outbound-hosts.repository.js';
import { type Arguments, argumentText, fillIn, insertedLength, placeholdersIn } from './placeholders.js';
import { excerptOf, readHttpAnswer } from './read-http-answer.js';
import { fillSecrets, secretsIn, withoutSecrets } from './secret-references.js';
import { settingHintOf } from './setting-hint-of.js';
import { fillUrl, parseUrlTemplate } from './url-template.js';

/** The part of a tool's context that a call reads. */
export type HttpContext = Pick<ToolContext, 'workspaceId' | 'idempotencyKey' | 'epoch' | 'signal'>;

/** One exchange, shown to a user who tries a tool out. It contains no secret. */
export interface HttpExchange {
  /** Null: no response. */
  readonly status: number | null;
  /** The result that the model would read; null: the call failed. */
  readonly result: string | null;
  /** Why it failed, as the model would read it. */
  readonly error: string | null;
  /** The operator's setting that would allow the request; the model does not read it. Null: none. */
  readonly hint: string | null;
  /** The beginning of the raw response. */
  readonly excerpt: string | null;
}

const EXCERPT_IN_TRIAL = 4_000;
/** Maximum UTF-16 units of arguments in a request: a short template can name a long argument thousands of times. */
const MAX_INSERTED = 1_048_576;
/** Only GET follows redirects: repeating a read is harmless, but a request that changes data must not be sent to another address. */
const REDIRECTS_OF_A_READ = 3;

/** Runs HTTP tools: fills in the request, sends it through the guarded client, and redacts the response. */
@Injectable()
export class HttpToolExecutor {
  constructor(
    private readonly fetch: GuardedFetch,
    private readonly secrets: WorkspaceSecrets,
    private readonly hosts: OutboundHostsRepository,
  ) {}

  /** Returns the text that the model reads. Throws with the reason if the call fails. No text contains a secret. */
  run(tool: HttpTool, args: Arguments, context: HttpContext): Promise<string> {
    return this.secrets.use(context.workspaceId, secretNamesOf(tool), async (open) => {
      const request = toHttpRequest(tool, { args, secrets: open.values, ...keyOf(context) });
      const answer = await this.send(tool, request, context).catch((error: unknown) => {
        throw withOutcome(error, tool);
      });
      return readHttpAnswer(answer, open, tool.result);
    });
  }

  /** Runs a call once for a user who tests it. Failures of the call do not throw. */
  async tryOut(tool: HttpTool, args: Arguments, context: HttpContext): Promise<HttpExchange> {
    try {
      return await this.secrets.use(context.workspaceId, secretNamesOf(tool), async (open) => {
        const request = toHttpRequest(tool, { args, secrets: open.values, ...keyOf(context) });
        return toExchange(tool, await this.send(tool, request, context), open);
      });
    } catch (error) {
      return { status: null, result: null, error: reasonOf(error), hint: settingHintOf(error), excerpt: null };
    }
  }

  /** Asks the remote server about the outcome of a call. The status of the response decides; an unlisted status means unknown. */
  async verify(tool: HttpTool, context: HttpContext): Promise<Verification> {
    const { verify } = tool;
    if (verify === undefined) return { outcome: 'unknown' };
    return this.secrets.use(context.workspaceId, secretNamesOf(verify), async (open) => {
      const args = { [KEY_ARGUMENT]: context.idempotencyKey };
      const request = toVerifyRequest(verify, { args, secrets: open.values, ...keyOf(context) });
      const answer = await this.send(tool, request, context);
      if (verify.didNotHappen.includes(answer.status)) return { outcome: 'did_not_happen' };
      if (!verify.happened.includes(answer.status)) {
        return { outcome: 'unknown', note: `HTTP ${answer.status} ${excerptOf(answer, open)}`.trim() };
      }
      return { outcome: 'happened', result: readHttpAnswer({ ...answer, status: 200 }, open, verify.result) };
    });
  }

  private async send(tool: HttpTool, request: HttpRequest, context: HttpContext): Promise<OutboundResponse> {
    const hosts = await this.hosts.of(context.workspaceId);
    context.signal.throwIfAborted();
    // The signal contains the tool's timeout, which covers the whole call.
    const noTimes = { firstByteMs: null, idleMs: null, totalMs: null };
    const maxRedirects = request.method === 'GET' ? REDIRECTS_OF_A_READ : 0;
    const limits = { ...noTimes, maxBytes: tool.maxBytes, maxRedirects };
    return this.fetch.request({ ...request, hosts, signal: context.signal, limits });
  }
}

function keyOf({ idempotencyKey, epoch }: HttpContext) {
  return { idempotencyKey, epoch };
}

function toExchange(tool: HttpTool, answer: OutboundResponse, open: OpenSecrets): HttpExchange {
  const seen = { status: answer.status, hint: null, excerpt: excerptOf(answer, open, EXCERPT_IN_TRIAL) };
  try {
    return { ...seen, result: readHttpAnswer(answer, open, tool.result), error: null };
  } catch (error) {
    return { ...seen, result: null, error: reasonOf(error) };
  }
}

/** If the connection was refused, the call had no effect. If it broke later, the outcome is unknown. */
function withOutcome(error: unknown, { effect }: HttpTool): unknown {
  if (!(error instanceof OutboundError) || effect === 'pure') return error;
  const isOpen = error.code === 'outbound_broken' || (error.code === 'outbound_unreachable' && !isRefused(error.cause));
  return isOpen ? new ToolOutcomeUnknown(`${error.message} It is not known whether the request took effect.`) : error;
}

function isRefused(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && 'syscall' in cause && cause.syscall === 'connect';
}

function reasonOf(error: unknown): string {
  if (error instanceof AppError) return error.message;
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'it took too long' : 'it failed';
}

/** The data of a request that the definition does not contain. */
interface HttpCall {
  readonly args: Arguments;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly idempotencyKey: string;
  readonly epoch: number;
}

/** The request to send. The caller adds the hosts, the timeout and the size limit. */
type HttpRequest = Pick<OutboundRequest, 'method' | 'headers' | 'body'> & { readonly url: URL };

/** The names of the secrets in a tool's headers. */
export function secretNamesOf({ headers }: Pick<HttpTool, 'headers'>): readonly string[] {
  return [...new Set(headers.flatMap(({ value }) => secretsIn(value)))];
}

/**
 * Fills in the request of one call. It always has `Idempotency-Key` and `X-Job-Epoch`. Throws `invalid_arguments` for an argument that its
 * position does not allow. Pure.
 */
export function toHttpRequest(tool: HttpTool, call: HttpCall): HttpRequest {
  const texts = [tool.url, ...tool.headers.map(({ value }) => value), ...bodyTexts(tool.body ?? defaultBody(tool))];
  if (insertedLength(texts, call.args) > MAX_INSERTED) throw tooMuchInserted();
  const { url, used } = fillTemplate(tool.url, call.args);
  const inHeaders = tool.headers.flatMap(({ value }) => placeholdersIn(withoutSecrets(value, '')));
  const taken = new Set([...used, ...inHeaders, ...(tool.body === undefined ? [] : bodyNames(tool.body))]);
  const rest = Object.fromEntries(Object.entries(call.args).filter(([name]) => !taken.has(name)));
  const body = fillBody(tool.body ?? defaultBody(tool), call.args, rest);
  const type = body === null ? {} : { 'content-type': body.contentType };
  const headers = { ...type, ...ours(call), ...fillHeaders(tool.headers, call) };
  return { method: tool.method, url, headers, ...(body === null ? {} : { body: body.text }) };
}

/** Fills in the request that asks about the outcome of a call. `call.args` contains only the key of the call. Pure. */
export function toVerifyRequest(verify: HttpVerify, call: HttpCall): HttpRequest {
  const { url } = fillTemplate(verify.url, call.args);
  return { method: verify.method, url, headers: { ...ours(call), ...fillHeaders(verify.headers, call) } };
}

function tooMuchInserted(): ToolArgumentsError {
  return new ToolArgumentsError(
    `invalid arguments: the request would contain more than ${MAX_INSERTED} characters of them`,
  );
}

function fillTemplate(text: string, args: Arguments): { readonly url: URL; readonly used: readonly string[] } {
  const template = parseUrlTemplate(text);
  if (typeof template === 'string') throw answerRefused(`its URL cannot be used: ${template}`);
  return { url: fillUrl(template, args), used: template.names };
}

/** The default body: if the method allows a body, it contains the remaining arguments. */
function defaultBody({ method }: HttpTool): { readonly type: 'none' | 'json' } {
  return { type: method === 'GET' || method === 'DELETE' ? 'none' : 'json' };
}

function ours({ idempotencyKey, epoch }: HttpCall): Readonly<Record<string, string>> {
  return { 'idempotency-key': idempotencyKey, 'x-job-epoch': String(epoch) };
}

/** A header with an absent argument is not sent. */
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

/** Rejects line breaks, which would begin another header (RFC 9110, 5.5). */
function headerText(value: string, name: string): string {
  if (/^[\t\x20-\x7e]*$/.test(value)) return value;
  throw new ToolArgumentsError(`invalid arguments: "${name}" has characters that a header cannot contain`);
}
