import { toStorableText } from '#platform';

/** The arguments of the model by name. */
export type Arguments = Readonly<Record<string, unknown>>;

/** `{name}` is a placeholder for an argument. Any other text in braces is literal. */
const PLACEHOLDER = /\{([A-Za-z_][\w-]{0,63})\}/g;
const WHOLE = /^\{([A-Za-z_][\w-]{0,63})\}$/;

/** The names of the arguments in a text, each once. */
export function placeholdersIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))];
}

/** The argument name if the text is exactly one placeholder; null otherwise. */
export function solePlaceholder(text: string): string | null {
  return WHOLE.exec(text)?.[1] ?? null;
}

/** The UTF-16 units of the arguments that the placeholders of these texts name, counted for each placeholder. */
export function insertedLength(texts: readonly string[], args: Arguments): number {
  const lengths = new Map<string, number>();
  let total = 0;
  for (const text of texts) {
    for (const [, name = ''] of text.matchAll(PLACEHOLDER)) {
      const length = lengths.get(name) ?? argumentText(args, name)?.length ?? 0;
      lengths.set(name, length);
      total += length;
    }
  }
  return total;
}

/** Replaces each placeholder by the result of `write`. The placeholder of an absent argument is removed. */
export function fillIn(text: string, args: Arguments, write: (value: string, name: string) => string): string {
  return text.replace(PLACEHOLDER, (_, name: string) => {
    const value = argumentText(args, name);
    return value === null ? '' : write(value, name);
  });
}

/** Replaces each placeholder by `stand`. */
export function withoutPlaceholders(text: string, stand: string): string {
  return text.replace(PLACEHOLDER, stand);
}

/** Reads an own member only, so that a model cannot read inherited members. */
export function argumentOf(args: Arguments, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

/** The text of an argument: a list of plain values is joined by commas, an object becomes JSON. Null: the argument is absent or null. */
export function argumentText(args: Arguments, name: string): string | null {
  const value = argumentOf(args, name);
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return toStorableText(value.join(','));
  return toStorableText(typeof value === 'string' ? value : JSON.stringify(value));
}
