import { z } from 'zod';

import { isOwnHeader, readInput, Redactor, toStorable } from '#platform';
import { assertSchema, type JsonSchema, MAX_CONCURRENT } from '#tools';

import { bodyNames, bodyTexts } from './fill-body.js';
import { toolInvalid } from './http.errors.js';
import { parseJsonPath } from './parse-json-path.js';
import { placeholdersIn, withoutPlaceholders } from './placeholders.js';
import { secretsIn, withoutSecrets } from './secret-references.js';
import { parseUrlTemplate } from './url-template.js';

/** Each call reads the whole template. */
const MAX_TEMPLATE = 65_536;

const text = (longest: number) => z.string().min(1).max(longest);
const MAX_TIMEOUT_MS = 300_000;
const MAX_BYTES = 8_388_608;

const header = z.strictObject({
  name: z.string().regex(/^[!#$%&'*+.^_`|~\dA-Za-z-]{1,100}$/, 'not a header name'),
  value: z
    .string()
    .max(4_000)
    .regex(/^[\t\x20-\x7e]*$/, 'a header can contain only visible ASCII characters'),
});
const headers = z.array(header).max(30).default([]);
const status = z.int().min(100).max(599);
const names = z.array(text(64)).max(50).default([]);

const body = z.strictObject({
  type: z.enum(['none', 'json', 'form', 'text']),
  template: z.json().optional(),
  contentType: z
    .string()
    .regex(/^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.-]+)*$/, 'not a media type')
    .optional(),
});

const verify = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST']).default('GET'),
  url: text(2_000),
  headers,
  happened: z.array(status).max(20).default([200]),
  didNotHappen: z.array(status).max(20).default([404]),
  result: text(500).optional(),
});

const definition = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 of letters, digits, "_" and "-"'),
  description: z.string().trim().min(1).max(4_000),
  parameters: z.record(z.string(), z.json()).default({ type: 'object', properties: {} }),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: text(2_000),
  headers,
  body: body.optional(),
  result: text(500).optional(),
  effect: z.enum(['pure', 'idempotent', 'once']).default('once'),
  repeatable: z.boolean().default(false),
  timeoutMs: z.int().min(1).max(MAX_TIMEOUT_MS).optional(),
  maxBytes: z.int().min(1).max(MAX_BYTES).default(1_048_576),
  approval: z.enum(['require_approval', 'block']).optional(),
  allowEdit: z.boolean().default(true),
  sensitiveFields: names,
  isolation: z.enum(['worker', 'queue']).default('worker'),
  concurrency: z.int().min(1).max(MAX_CONCURRENT).optional(),
  onUnknown: z.enum(['ask', 'verify', 'report', 'fail']).optional(),
  verify: verify.optional(),
});

/** The request with which a tool asks the remote server about a call with an unknown outcome. */
export type HttpVerify = z.infer<typeof verify>;
/** A header of a request. Its value is a template. */
export type HttpHeader = z.infer<typeof header>;
/** The definition of an HTTP tool by a workspace; docs/tools.md describes each field. */
export type HttpTool = z.infer<typeof definition>;

/** The only argument that a verify request may name: after a loss of the call, only its key is known. */
export const KEY_ARGUMENT = 'idempotencyKey';

/**
 * Parses a definition and fills in its defaults. Throws `bad_request` with the path of the first fault (`definition.url` …). An accepted
 * definition can be registered and run.
 */
export function parseHttpTool(input: unknown): HttpTool {
  const read = readInput(definition, toStorable(input, 'definition'));
  if ('problem' in read)
    throw toolInvalid(['definition', ...read.problem.path].map(String).join('.'), read.problem.text);
  const tool = read.data;
  for (const [field, problem] of problemsOf(tool)) {
    if (problem !== null) throw toolInvalid(`definition.${field}`, problem);
  }
  return tool;
}

/** Reads a definition that `parseHttpTool` accepted when it was stored. Null: a build with another format stored it. */
export function readStoredHttpTool(stored: unknown): HttpTool | null {
  return definition.safeParse(stored).data ?? null;
}

type Problem = readonly [field: string, problem: string | null];

function* problemsOf(tool: HttpTool): Generator<Problem> {
  yield ['parameters', problemOfSchema(tool.parameters)];
  const known = new Set(Object.keys(propertiesOf(tool.parameters)));
  yield ['url', problemOfUrl(tool.url, known)];
  yield* headerProblems('headers', tool.headers, known);
  yield ['body', problemOfBody(tool, known)];
  yield ['result', problemOfPath(tool.result)];
  if (tool.onUnknown === 'verify' && tool.verify === undefined)
    yield ['onUnknown', 'the definition has no verify request'];
  if (tool.verify === undefined) return;
  const key = new Set([KEY_ARGUMENT]);
  yield ['verify.url', problemOfUrl(tool.verify.url, key)];
  yield* headerProblems('verify.headers', tool.verify.headers, key);
  yield ['verify.result', problemOfPath(tool.verify.result)];
}

function problemOfSchema(schema: JsonSchema): string | null {
  if (schema['type'] !== 'object') return 'it must be the JSON Schema of an object: "type": "object"';
  try {
    assertSchema(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'it does not compile';
  }
}

function problemOfUrl(url: string, known: ReadonlySet<string>): string | null {
  if (secretsIn(url).length > 0 || holdsSecret(withoutPlaceholders(url, ''))) return 'secrets belong into headers';
  const template = parseUrlTemplate(url);
  return typeof template === 'string' ? template : problemOfNames(template.names, known);
}

function* headerProblems(field: string, given: readonly HttpHeader[], known: ReadonlySet<string>): Generator<Problem> {
  const seen = new Set<string>();
  for (const { name, value } of given) {
    const lower = name.toLowerCase();
    const isOurs = isOwnHeader(name) || lower === 'idempotency-key' || lower === 'x-job-epoch';
    yield [`${field}.${name}`, isOurs ? 'this header is set by the server' : null];
    yield [`${field}.${name}`, seen.has(lower) ? 'it is there twice' : null];
    seen.add(lower);
    yield [`${field}.${name}`, problemOfNames(placeholdersIn(withoutSecrets(value, '')), known)];
    yield [
      `${field}.${name}`,
      looksSecret(lower, value) ? 'store the secret in the workspace and write {{secret:NAME}} here' : null,
    ];
  }
}

/** Whether a value looks like a secret. Definitions are readable, so they must not contain secrets. */
function looksSecret(name: string, value: string): boolean {
  const rest = withoutSecrets(value, '');
  if (holdsSecret(`${name}: ${withoutPlaceholders(rest, '')}`)) return true;
  return (name === 'authorization' || name === 'cookie') && placeholdersIn(rest).length === 0 && rest === value;
}

function holdsSecret(text: string): boolean {
  return new Redactor().redact(text) !== text;
}

function problemOfBody({ method, body: given }: HttpTool, known: ReadonlySet<string>): string | null {
  if (given === undefined || given.type === 'none') return null;
  if (method === 'GET') return 'GET has no body';
  if (JSON.stringify(given.template ?? null).length > MAX_TEMPLATE)
    return `its template is longer than ${MAX_TEMPLATE} characters as JSON`;
  if (bodyTexts(given).some((one) => secretsIn(one).length > 0)) return 'secrets belong into headers';
  const { type, template } = given;
  if (type === 'text' && typeof template !== 'string') return 'the template of a text is a text';
  const isForm = typeof template === 'object' && template !== null && !Array.isArray(template);
  if (type === 'form' && template !== undefined && !isForm) return 'the template of a form is an object of texts';
  return problemOfNames(bodyNames(given), known);
}

function problemOfNames(found: readonly string[], known: ReadonlySet<string>): string | null {
  const stranger = found.find((name) => !known.has(name));
  return stranger === undefined ? null : `{${stranger}} is not among the properties of the parameters`;
}

function problemOfPath(path: string | undefined): string | null {
  const read = path === undefined ? null : parseJsonPath(path);
  return typeof read === 'string' ? read : null;
}

function propertiesOf(schema: JsonSchema): object {
  const { properties } = schema;
  return typeof properties === 'object' && properties !== null ? properties : {};
}
