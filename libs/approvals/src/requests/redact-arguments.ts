import { Redactor } from '#platform';
import type { JsonObject } from '#tools';

/** The text that replaces a hidden value. */
export const HIDDEN = '***';

/** Names that mark their value as a secret, whether or not the tool declares it; lower case, without `-` and `_`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'passphrase', 'secret', 'token', 'apikey', 'accesstoken', 'refreshtoken', 'idtoken'],
  ...['clientsecret', 'privatekey', 'secretkey', 'accesskey', 'authorization', 'credentials', 'cookie', 'sessionid'],
]);

/** Recognizes credentials by their format (`Bearer …`, `sk-…`, private keys), anywhere in a text. */
const SHAPES = new Redactor();

/** The shortest text that contains a credential is `://:x@`. Arguments may have 20,000 shorter texts. */
const MIN_CREDENTIAL_LENGTH = 6;

/** Arguments without their hidden values, and the names of the hidden fields. */
export interface HiddenArguments {
  readonly shown: JsonObject;
  /** Names of fields whose values are hidden: declared ones, and those with the name of a secret. */
  readonly fields: readonly string[];
  /**
   * Whether a part of a text is hidden because it looks like a credential. This is a guess: the author of the arguments can make any text
   * look like a credential.
   */
  readonly isGuessed: boolean;
}

/**
 * Hides the values of fields with one of these names, at any depth, of fields with the name of a secret (`password`, `api_key`,
 * `Authorization` …), and text that looks like a credential. Names are compared without case, `-` and `_`. Expects arguments that
 * `parseArguments` has read, and does not change them.
 */
export function hideArguments(args: JsonObject, sensitiveFields: readonly string[]): HiddenArguments {
  const hiding = new Hiding(sensitiveFields);
  const shown = hiding.object(args);
  return { shown, fields: [...sensitiveFields, ...hiding.named], isGuessed: hiding.isGuessed };
}

/** Returns the arguments with `***` in place of hidden values. */
export function redactArguments(args: JsonObject, sensitiveFields: readonly string[]): JsonObject {
  return hideArguments(args, sensitiveFields).shown;
}

class Hiding {
  isGuessed = false;
  /** Names of `SECRET_NAMES` that the arguments contain and the tool does not declare. */
  readonly named = new Set<string>();
  private readonly declared: ReadonlySet<string>;

  constructor(sensitiveFields: readonly string[]) {
    this.declared = new Set(sensitiveFields.map(plainName));
  }

  object(value: object): JsonObject {
    const members = Object.entries(value).map(([name, member]): [string, unknown] => [
      name,
      this.isHidden(plainName(name)) ? HIDDEN : this.value(member),
    ]);
    return Object.fromEntries(members);
  }

  private isHidden(name: string): boolean {
    if (this.declared.has(name)) return true;
    if (!SECRET_NAMES.has(name)) return false;
    this.named.add(name);
    return true;
  }

  private value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    return typeof value === 'object' && value !== null ? this.object(value) : value;
  }

  private text(text: string): string {
    if (text.length < MIN_CREDENTIAL_LENGTH) return text;
    const shown = SHAPES.redact(text);
    if (shown === text) return text;
    this.isGuessed = true;
    return shown.replaceAll('[redacted]', HIDDEN);
  }
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}
