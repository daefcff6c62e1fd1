import type { NextFunction, Request, Response } from 'express';

import type { Config } from '../../config/config.js';
import { AppError } from '../../errors/app-error.js';
import { JsonScan, MAX_JSON_DEPTH } from '../../json-scan.js';
import { bodyAborted, invalidBody, tooLarge, unsupportedEncoding } from '../errors/http.errors.js';
import { BodyBudget, publicBodyBudgetLimits } from './body-budget.js';
import type { CallerTurns } from './caller-turns.js';
import { readBytes } from './read-bytes.js';

/** A result of 256 KiB may be six times as long in JSON if every code unit is escaped, and the body has other fields. */
const resultBytes = 6 * 262_144 + 16_384;

/** Routes with a lower limit than the server's. */
const smaller: readonly { readonly path: RegExp; readonly bytes: number }[] = [
  { path: /^\/api\/jobs\/[^/]+\/client-tool\/(?:claim|validate)\/?$/i, bytes: 4_096 },
  { path: /^\/api\/jobs\/[^/]+\/client-tool\/result\/?$/i, bytes: resultBytes },
  { path: /^\/api\/workflows\/background\/?$/i, bytes: 262_144 },
  { path: /^\/api\/workflows\/hitl\/?$/i, bytes: resultBytes },
  { path: /^\/hooks\//i, bytes: 1_048_576 },
  { path: /^\/webhook\//i, bytes: 1_048_576 },
  { path: /^\/api\/triggers\/[^/]+\/changes\/?$/i, bytes: 1_048_576 },
  { path: /^\/trigger\//i, bytes: 262_144 },
];

/** Maximum size of a body for this URL. */
export function bodyLimitOf(url: string, limitBytes: number): number {
  const path = url.split('?', 1)[0] ?? '';
  const route = smaller.find((candidate) => candidate.path.test(path));
  return route === undefined ? limitBytes : Math.min(route.bytes, limitBytes);
}

/**
 * Reads the bytes of one request for the caller. `use` gets them while they count as memory of the caller. Without `raw`, only a JSON body is
 * read.
 */
type BodyReader = (caller: BodyCaller, use: UseOfBody, raw?: RawBody) => Promise<void>;

type UseOfBody = (bytes: Buffer) => void | Promise<void>;

/** How to read a body that is not JSON. */
export interface RawBody {
  readonly limitBytes: number;
  /** Receives each piece as it arrives. */
  readonly onBytes: (bytes: Buffer) => void;
}

/** A caller with a credential, or the client address of a request to a public target. */
type BodyCaller = { readonly name: string } | { readonly target: string };

const readers = new WeakMap<Request, BodyReader>();
const empty = new WeakSet<Request>();
const withoutBody = new Set(['GET', 'HEAD']);
/** Bodies with fewer tokens are parsed as they arrive, without waiting for a parse slot. */
const LARGE_TOKENS = 1_000;
/** The problem of a body that is not declared as JSON. */
const OTHER_TYPE = 'it must be JSON. Send the request as application/json';
/** Cost in ms to parse, validate and store a token: a start with 120 client tools has 27,000 tokens and takes 25 ms. */
const MS_PER_TOKEN = 0.001;

/** The settings of the reader. */
type BodySettings = Pick<Config['values'], 'MAX_BODY_BYTES' | 'MAX_BODY_TOKENS' | 'BODY_TIMEOUT_MS'>;

/**
 * Prepares the reading of bodies and reads none: a guard calls `readBody` after authentication. So a request without a valid credential costs
 * only its headers: its body is not stored, decompressed or parsed.
 */
export function bodyMiddleware(settings: BodySettings, turns: CallerTurns, addressOf: (request: Request) => string) {
  const [callers, addresses] = [new BodyBudget(), new BodyBudget(publicBodyBudgetLimits)];
  return (request: Request, response: Response, next: NextFunction): void => {
    readers.set(request, (by, use, raw) => {
      const counted =
        'name' in by
          ? { budget: callers, caller: by.name }
          : { budget: addresses, caller: `${addressOf(request)} ${by.target}` };
      const reading: Reading = { settings, turns, response, ...counted };
      if (raw !== undefined) return readRawOf(request, { ...reading, raw }, use);
      if ('target' in by || request.is('application/json') !== false) return readJsonOf(request, reading, use);
      if (!isSilent(request)) refuseToRead(request);
      return Promise.resolve();
    });
    next();
  };
}

/** A handler that reads the body of another type throws; one that needs no body ignores it. */
function refuseToRead(request: Request): void {
  Object.defineProperty(request, 'body', {
    get: () => {
      throw invalidBody(OTHER_TYPE);
    },
  });
}

/**
 * Reads and parses the body into `request.body`, as JSON in UTF-8. Without content, it is undefined; with content of another type, reading it
 * throws `bad_request`. The bodies of a `caller` share one memory budget. Large bodies wait for slots: to be read, by size, and to be parsed and handled, by tokens. Throws
 * `unsupported_media_type` for an encoded (compressed) body, `too_large` over the limit of the route, of tokens or of levels, `bad_request`
 * for invalid JSON, `body_timeout`, `rate_limited`, `unavailable`. May be called again.
 */
export async function readBody(request: Request, caller: string): Promise<void> {
  const read = readers.get(request);
  readers.delete(request);
  await read?.({ name: caller }, (bytes) => {
    request.body = parse(bytes);
  });
}

/**
 * Reads the body of a request without a credential and does not parse it, for a signature over its bytes. It counts for the client address
 * and the `target`, in a separate budget. Any content type is read, because a signature covers only the bytes. Throws the errors of
 * `readBody`.
 */
export async function readPublicBody(request: Request, target: string): Promise<Buffer> {
  const read = readers.get(request);
  readers.delete(request);
  let raw: Buffer = Buffer.alloc(0);
  await read?.({ target }, (bytes) => {
    raw = bytes;
  });
  return raw;
}

/**
 * Reads a body of any content type and passes its bytes to `use`, while they count against the memory of `caller`. Throws the errors of
 * `readBody`, `too_large` before it reads beyond `limitBytes`. A request without a body has no bytes.
 */
export async function readRawBody(
  request: Request,
  caller: string,
  { use, ...raw }: RawBody & { readonly use: UseOfBody },
): Promise<void> {
  const read = readers.get(request);
  readers.delete(request);
  await read?.({ name: caller }, use, raw);
}

/** Whether the request has an empty JSON body, with `Content-Length: 0` or without chunks. */
export function hasEmptyBody(request: Request): boolean {
  return empty.has(request);
}

interface Reading {
  readonly settings: BodySettings;
  readonly budget: BodyBudget;
  readonly turns: CallerTurns;
  readonly caller: string;
  readonly response: Response;
}

async function readJsonOf(request: Request, reading: Reading, use: UseOfBody): Promise<void> {
  const { settings } = reading;
  if (withoutBody.has(request.method) || !hasBody(request)) return;
  const limitBytes = bodyLimitOf(request.url, settings.MAX_BODY_BYTES);
  const scan = new JsonScan({ depth: MAX_JSON_DEPTH, tokens: settings.MAX_BODY_TOKENS });
  const onBytes = (bytes: Buffer) => {
    const exceeded = scan.push(bytes);
    if (exceeded === 'depth') throw tooComplex(`is nested deeper than ${MAX_JSON_DEPTH} levels`);
    if (exceeded === 'tokens') throw tooComplex(`has more than ${settings.MAX_BODY_TOKENS} JSON tokens`);
  };
  await readRawOf(request, { ...reading, raw: { limitBytes, onBytes } }, async (bytes) => {
    if (bytes.length === 0) empty.add(request);
    if (scan.tokens >= LARGE_TOKENS) await acquireParseSlot(scan.tokens * MS_PER_TOKEN, reading);
    return use(bytes);
  });
}

async function readRawOf(
  request: Request,
  { raw, settings, budget, turns, caller }: Reading & { readonly raw: RawBody },
  use: UseOfBody,
): Promise<void> {
  assertPlain(request);
  if (Number(request.headers['content-length'] ?? 0) > raw.limitBytes) throw tooLarge(raw.limitBytes);
  const body = budget.open(caller);
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    const onBytes = (bytes: Buffer) => {
      length += bytes.length;
      if (length > raw.limitBytes) throw tooLarge(raw.limitBytes);
      raw.onBytes(bytes);
      body.take(bytes.length);
      pieces.push(bytes);
    };
    if (hasBody(request)) await readBytes(request, { onBytes, withinMs: settings.BODY_TIMEOUT_MS, turns, caller });
    await use(Buffer.concat(pieces, length));
  } finally {
    body.release();
  }
}

/** Resolves when the caller may parse and handle the request. Rejects if the client disconnects before. */
function acquireParseSlot(costMs: number, { turns, caller, response }: Reading): Promise<void> {
  if (turns.takeNow(caller, costMs)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const abort = () => {
      withdraw();
      reject(bodyAborted());
    };
    const withdraw = turns.next(caller, costMs, () => {
      response.off('close', abort);
      resolve();
    });
    response.once('close', abort);
  });
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
}

/** Whether the request has no content that its handler could miss. */
function isSilent({ method, headers }: Request): boolean {
  return (
    withoutBody.has(method) || !(headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0)
  );
}

/** A small compressed body can expand to a huge one, so compressed bodies are rejected (RFC 9110, section 15.5.16). */
function assertPlain({ headers }: Request): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
  if (encoding !== 'identity' || !/^utf-?8$/.test(charset)) throw unsupportedEncoding();
}

/** An empty body is read as an empty object, so that the route names the missing field. Only objects and arrays are accepted. */
function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Rejected below, because the parser's message would quote parts of the body.
  }
  throw invalidBody('it is not JSON, or neither an object nor a list');
}

function tooComplex(problem: string): AppError {
  return new AppError({ code: 'too_large', message: `Request body ${problem}` });
}
