import { Redactor } from '#platform';
import type { JsonObject } from '#tools';

/** What stands where a value is not shown. */
export const HIDDEN = '***';

/** Names that mark their value as a secret, whether or not the tool declares it; lower case, without `-` and `_`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'passphrase', 'secret', 'token', 'apikey', 'accesstoken', 'refreshtoken', 'idtoken'],
  ...['clientsecret', 'privatekey', 'secretkey', 'accesskey', 'authorization', 'credentials', 'cookie', 'sessionid'],
]);

/** Knows what credentials look like (`Bearer …`, `sk-…`, private keys), wherever they stand. */
const SHAPES = new Redactor();

/** Arguments as others may see them, and what they do not see. */
export interface HiddenArguments {
  readonly shown: JsonObject;
  /** Names of members that are not shown: those that were declared, and those that say of themselves that they are a secret. */
  readonly fields: readonly string[];
  /**
   * Whether a part of a text is not shown because it looks like a credential. That is a guess, not a declaration: the
   * author of the arguments can make anything look like one.
   */
  readonly isGuessed: boolean;
}

/**
 * Hides the value of every member with one of these names, at any depth, of members with the name of a
 * secret (`password`, `api_key`, `Authorization` …), and text that looks like a credential. Case, `-` and `_` of names
 * do not count. For arguments that `parseArguments` has read; they are not changed.
 */
export function hideArguments(args: JsonObject, sensitiveFields: readonly string[]): HiddenArguments {
  const hiding = new Hiding(sensitiveFields);
  const shown = hiding.object(args);
  return { shown, fields: [...sensitiveFields, ...hiding.named], isGuessed: hiding.isGuessed };
}

/** What `hideArguments` shows, with `***` for the rest. */
export function redactArguments(args: JsonObject, sensitiveFields: readonly string[]): JsonObject {
  return hideArguments(args, sensitiveFields).shown;
}

class Hiding {
  isGuessed = false;
  /** Names as in `SECRET_NAMES` that were met and not declared. */
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
    const shown = SHAPES.redact(text);
    if (shown === text) return text;
    this.isGuessed = true;
    return shown.replaceAll('[redacted]', HIDDEN);
  }
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}
