import { z } from 'zod';

import { isOwnHeader, readInput, Redactor, toStorableText } from '#platform';

import { secretsIn, withoutSecrets } from '../http/secret-references.js';
import { mcpInputInvalid } from './mcp.errors.js';
import type { McpSettings } from './mcp-server.js';

const shapes = new Redactor();
/** Names of headers and variables whose value is probably a credential. */
const CREDENTIAL = /auth|cookie|token|secret|password|passwd|credential|api[-_]?key|access[-_]?key|private[-_]?key/i;
/** Headers that the protocol, the guard or this server sets. */
const TAKEN = /^(accept|content-.*|idempotency-key|last-event-id|mcp-.*|x-job-epoch)$/i;
const SECRETS_ONLY = 'store the credential as a secret and write {{secret:NAME}}';
/** Far above what servers need. The limit exists because each entry is stored, shown and sent with each request. */
const MAX_MEMBERS = 100;
const TOO_MANY = `at most ${MAX_MEMBERS}`;
/** The maximum number of tools of a server. */
const MAX_EFFECTS = 200;
const MAX_TIMEOUT_MS = 24 * 3_600_000;

const storable = (longest: number) =>
  z
    .string()
    .max(longest, `at most ${longest} characters`)
    .refine((text) => toStorableText(text) === text, 'contains characters that cannot be stored')
    .refine(isHarmless, 'looks like a secret: store it as a secret and write {{secret:NAME}}');

const effects = z.enum(['pure', 'idempotent', 'once']);
const common = {
  timeoutMs: z.int().min(1).max(MAX_TIMEOUT_MS).nullable().default(null),
  isolated: z.boolean().default(false),
  trusted: z.boolean().default(false),
  effect: effects.nullable().default(null),
  effects: z
    .record(storable(128).regex(/^(?!__proto__$)/), effects)
    .refine((given) => Object.keys(given).length <= MAX_EFFECTS, `at most ${MAX_EFFECTS}`)
    .default({}),
};

const url = storable(2_000).refine(
  isUsableUrl,
  'must begin with https:// or http:// and contain no user name, password or fragment',
);

const headers = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z][!#$%&'*+.^_`|~\dA-Za-z-]{0,127}$/, 'not a name for a header')
      .refine((name) => !isOwnHeader(name) && !TAKEN.test(name), 'the server sets this header itself'),
    storable(4_096).regex(/^[\t\x20-\x7e]*$/, 'not a value for a header'),
  )
  .refine(isShort, TOO_MANY)
  .refine(areCredentialsSecret, SECRETS_ONLY);

const env = z
  .record(z.string().regex(/^(?!__)[A-Za-z_]\w{0,127}$/, 'not a name for a variable'), storable(4_096))
  .refine(isShort, TOO_MANY)
  .refine(areCredentialsSecret, SECRETS_ONLY);

const settings = z.discriminatedUnion('transport', [
  z.strictObject({ transport: z.literal('http'), url, headers: headers.default({}), ...common }),
  z.strictObject({
    transport: z.literal('stdio'),
    command: storable(1_000).min(1),
    args: z.array(storable(4_096)).max(64).readonly().default([]),
    env: env.default({}),
    ...common,
  }),
]);

/** The name of a server, which is the prefix of its tools' names. */
export const mcpServerName = z.string().regex(/^[a-z0-9_-]{1,32}$/, '1 to 32 of a-z, 0-9, "_" and "-"');

/** The input of settings, with optional fields. */
export type McpSettingsInput = z.input<typeof settings>;

/** Parses the settings of a server and fills in defaults. Throws `bad_request`, naming the invalid field. */
export function parseMcpSettings(input: unknown): McpSettings {
  const read = readInput(settings, input);
  if ('data' in read) return read.data;
  throw mcpInputInvalid(read.problem.field === '' ? 'settings' : read.problem.field, read.problem.text);
}

/** The names of the secrets in the settings. */
export function secretsOf(given: McpSettings): readonly string[] {
  const values = Object.values(given.transport === 'http' ? given.headers : given.env);
  return [...new Set(values.flatMap(secretsIn))];
}

/** Whether the new settings mean another server, so that acceptances do not carry over. */
export function isElsewhere(before: McpSettings, after: McpSettings): boolean {
  if (before.transport === 'http' && after.transport === 'http') return before.url !== after.url;
  if (before.transport === 'stdio' && after.transport === 'stdio') {
    return JSON.stringify([before.command, before.args]) !== JSON.stringify([after.command, after.args]);
  }
  return true;
}

function isUsableUrl(text: string): boolean {
  const url = URL.parse(text);
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isHttp && `${url.username}${url.password}${url.hash}` === '';
}

/** Whether a text is free of secrets. Settings are stored and shown as written, so they must not contain any. */
function isHarmless(text: string): boolean {
  const written = withoutSecrets(text, '');
  return shapes.redact(written) === written;
}

function isShort(given: Readonly<Record<string, string>>): boolean {
  return Object.keys(given).length <= MAX_MEMBERS;
}

function areCredentialsSecret(given: Readonly<Record<string, string>>): boolean {
  return Object.entries(given).every(([name, value]) => !CREDENTIAL.test(name) || secretsIn(value).length > 0);
}
