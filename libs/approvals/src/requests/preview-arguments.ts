import { toStorableText } from '#platform';
import type { JsonObject } from '#tools';

/** Longest preview, in UTF-16 code units. */
export const MAX_PREVIEW = 1_200;
const shortestLine = 40;
/** The part of a preview for the names of the omitted fields. */
const maxNamesLength = 400;
const ELLIPSIS = '…';

/** The preview of arguments for an approver. */
export interface Preview {
  readonly text: string;
  /** Whether any text was left out. */
  readonly truncated: boolean;
}

/**
 * Renders arguments for a person: one line `name: value` for each, with the value as JSON. Control, format and separator characters are
 * escaped, so a value can neither begin a new line nor reverse the direction of the text. If the text is too long, each line is first cut to
 * its share, so that a long value cannot hide the values after it. If there are too many lines for that, a last line has the number of
 * omitted fields and as many of their names as fit.
 */
export function previewArguments(args: JsonObject): Preview {
  const lines = Object.entries(args).map(([name, value]) => `${nameText(name)}: ${visible(JSON.stringify(value))}`);
  const whole = lines.join('\n');
  if (whole.length <= MAX_PREVIEW) return { text: whole, truncated: false };
  const share = Math.floor(MAX_PREVIEW / lines.length) - 1;
  if (share >= shortestLine) return { text: lines.map((line) => cutText(line, share)).join('\n'), truncated: true };
  const shown = fitting(
    lines.map((line) => cutText(line, shortestLine)),
    MAX_PREVIEW - maxNamesLength,
  );
  const left = Object.keys(args).slice(shown.length);
  return { text: [...shown, `${ELLIPSIS} ${left.length} more: ${namesText(left)}`].join('\n'), truncated: true };
}

/** The first lines that fit together. */
function fitting(lines: readonly string[], longest: number): readonly string[] {
  let length = 0;
  const end = lines.findIndex((line) => (length += line.length + 1) > longest);
  return end === -1 ? lines : lines.slice(0, end);
}

/**
 * The names of omitted fields, each cut to the length of a line. The caller puts the count in front, so a name cannot look like the beginning
 * of the line.
 */
function namesText(names: readonly string[]): string {
  const texts = names.map((name) => cutText(nameText(name), shortestLine));
  return cutText(texts.join(', '), maxNamesLength - 20);
}

/** At most `longest` code units. A text that was cut ends with an ellipsis, and a surrogate pair is never split. */
export function cutText(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const end = longest - ELLIPSIS.length;
  const isSplit = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '');
  return text.slice(0, isSplit ? end - 1 : end) + ELLIPSIS;
}

function nameText(name: string): string {
  return /^[A-Za-z_][\w.-]*$/.test(name) ? name : visible(JSON.stringify(name));
}

/** Escapes every invisible character. The JSON value stays the same. */
function visible(json: string): string {
  return toStorableText(json).replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu,
    escaped,
  );
}

function escaped(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
