import { toStorableText } from '#platform';

/** Arguments by name, as a model gave them. */
export type Arguments = Readonly<Record<string, unknown>>;

/** `{name}` stands for an argument. Anything else in braces is text. */
const PLACEHOLDER = /\{([A-Za-z_][\w-]{0,63})\}/g;
const WHOLE = /^\{([A-Za-z_][\w-]{0,63})\}$/;

/** The arguments that a text names, each once. */
export function placeholdersIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))];
}

/** The argument that a text names and is nothing else than; null: it is more, or less. */
export function solePlaceholder(text: string): string | null {
  return WHOLE.exec(text)?.[1] ?? null;
}

/** The text with each argument in its place, by `write`. An argument that is absent is left out. */
export function fillIn(text: string, args: Arguments, write: (value: string, name: string) => string): string {
  return text.replace(PLACEHOLDER, (_, name: string) => {
    const value = argumentText(args, name);
    return value === null ? '' : write(value, name);
  });
}

/** The text without its placeholders, each replaced by `stand`. */
export function withoutPlaceholders(text: string, stand: string): string {
  return text.replace(PLACEHOLDER, stand);
}

/** The own member of that name; a model cannot reach what objects inherit. */
export function argumentOf(args: Arguments, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

/** An argument as text: a list of plain values with commas, an object as JSON. Null: absent, or null. */
export function argumentText(args: Arguments, name: string): string | null {
  const value = argumentOf(args, name);
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return toStorableText(value.join(','));
  return toStorableText(typeof value === 'string' ? value : JSON.stringify(value));
}
