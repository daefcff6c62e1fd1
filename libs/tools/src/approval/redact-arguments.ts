import { Redactor } from '#platform';

import type { JsonObject } from '../parse-arguments.js';

/** What stands where a value is not shown. */
export const HIDDEN = '***';

/** Names that say of themselves that their value is a secret, whatever the tool says; lower case, without `-` and `_`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'passphrase', 'secret', 'token', 'apikey', 'accesstoken', 'refreshtoken', 'idtoken'],
  ...['clientsecret', 'privatekey', 'secretkey', 'accesskey', 'authorization', 'credentials', 'cookie', 'sessionid'],
]);

/** Knows what credentials look like (`Bearer …`, `sk-…`, private keys), wherever they stand. */
const SHAPES = new Redactor();

/**
 * A copy in which the value of every member with one of these names, at any depth, reads `***`; so do members whose name says
 * that they are a secret (`password`, `api_key`, `Authorization` …), and what looks like a credential inside a text. Case, `-`
 * and `_` of names do not count. For arguments that `parseArguments` has read.
 */
export function redactArguments(args: JsonObject, sensitiveFields: readonly string[]): JsonObject {
  const hidden = new Set(sensitiveFields.map(plainName));
  return redactObject(args, hidden);
}

function redactObject(value: object, hidden: ReadonlySet<string>): JsonObject {
  const members = Object.entries(value).map(([name, member]): [string, unknown] => {
    const plain = plainName(name);
    return [name, hidden.has(plain) || SECRET_NAMES.has(plain) ? HIDDEN : redactValue(member, hidden)];
  });
  return Object.fromEntries(members);
}

function redactValue(value: unknown, hidden: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return SHAPES.redact(value).replaceAll('[redacted]', HIDDEN);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, hidden));
  return typeof value === 'object' && value !== null ? redactObject(value, hidden) : value;
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}
