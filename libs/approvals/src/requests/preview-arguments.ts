import { toStorableText } from '#platform';
import type { JsonObject } from '#tools';

/** Longest preview, in UTF-16 code units. */
export const MAX_PREVIEW = 1_200;
const shortestLine = 40;
/** Of a preview, for the names of members that it has no lines for. */
const mostForNames = 400;
const ELLIPSIS = '…';

/** Arguments as a person is shown them. */
export interface Preview {
  readonly text: string;
  /** Whether anything was left out. */
  readonly truncated: boolean;
}

/**
 * Renders arguments for a person: a line `name: value` for each, values as JSON on that one line. Control, format and separator
 * characters are written as escapes, so no value can begin a line of its own or turn the text around. When it does not fit,
 * each line is cut to its share first: a long value cannot push the ones after it out of sight. Where there are too many for
 * that, a last line has the number of omitted members and names them, as far as names fit.
 */
export function previewArguments(args: JsonObject): Preview {
  const lines = Object.entries(args).map(([name, value]) => `${nameText(name)}: ${visible(JSON.stringify(value))}`);
  const whole = lines.join('\n');
  if (whole.length <= MAX_PREVIEW) return { text: whole, truncated: false };
  const share = Math.floor(MAX_PREVIEW / lines.length) - 1;
  if (share >= shortestLine) return { text: lines.map((line) => cutText(line, share)).join('\n'), truncated: true };
  const shown = fitting(
    lines.map((line) => cutText(line, shortestLine)),
    MAX_PREVIEW - mostForNames,
  );
  const left = Object.keys(args).slice(shown.length);
  return { text: [...shown, `${ELLIPSIS} ${left.length} more: ${namesText(left)}`].join('\n'), truncated: true };
}

/** The first lines, as far as they fit together. */
function fitting(lines: readonly string[], longest: number): readonly string[] {
  let length = 0;
  const end = lines.findIndex((line) => (length += line.length + 1) > longest);
  return end === -1 ? lines : lines.slice(0, end);
}

/** Each name cut to what a line would show of it. No name begins like the line it stands on. */
function namesText(names: readonly string[]): string {
  const texts = names.map((name) => cutText(nameText(name), shortestLine));
  return cutText(texts.join(', '), mostForNames - 20);
}

/** At most `longest` code units, the last of them an ellipsis if it was cut; never half a surrogate pair. */
export function cutText(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const end = longest - ELLIPSIS.length;
  const isSplit = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '');
  return text.slice(0, isSplit ? end - 1 : end) + ELLIPSIS;
}

function nameText(name: string): string {
  return /^[A-Za-z_][\w.-]*$/.test(name) ? name : visible(JSON.stringify(name));
}

/** JSON with everything invisible written out: what it means as JSON stays the same. */
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
