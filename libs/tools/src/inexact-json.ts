const MAX_SHOWN_LENGTH = 40;
/** Strings (with a colon if the string is a member name), numbers, and the brackets of objects and arrays. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*|[{}[\]]/g;
const SMALL_INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Explains why `text`, which is valid JSON, would change its meaning when it is parsed and serialized again: it contains a number that a
 * double cannot represent (beyond 2^53, 1e400, -0, too many digits), a duplicate member name, or `__proto__`. Returns a clause without a full
 * stop, or undefined if the text is exact. Linear in the text. Pure.
 */
export function inexactJson(text: string): string | undefined {
  const names: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') names.push(new Set());
    else if (token === '}' || token === ']') names.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string; // a string token of valid JSON
      if (name === '__proto__') return 'arguments have a member "__proto__", which is not allowed';
      if (names.at(-1)?.has(name) === true) return `arguments name the member ${shown(JSON.stringify(name))} twice`;
      names.at(-1)?.add(name);
    } else if (!token.startsWith('"') && !isExact(token)) {
      return `arguments hold the number ${shown(token)}, which cannot be passed on exactly; write it as text`;
    }
  }
  return undefined;
}

/** The problem of arguments that arrived as part of a larger body; see `mayBeRounded`. */
export const ROUNDED_PROBLEM = 'integers beyond 2^53 cannot be passed on exactly; write them as text';

/** Whether a number may have been rounded when its JSON was parsed: it is beyond the exact integers of a double. */
export function mayBeRounded(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isSafeInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(mayBeRounded);
}

/** Whether the parsed number serializes to the same decimal. */
function isExact(number: string): boolean {
  if (SMALL_INTEGER.test(number)) return true;
  const decimal = decimalOf(number);
  return decimal !== undefined && decimal === decimalOf(JSON.stringify(Number(number)));
}

/** Sign, significant digits and power of ten: equal for equal decimals in any notation. */
function decimalOf(number: string): string | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = NUMBER.exec(number) ?? [];
  if (sign === undefined || whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  if (end === 0) return `${sign}0`;
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

function shown(text: string): string {
  return text.length <= MAX_SHOWN_LENGTH ? text : `${text.slice(0, MAX_SHOWN_LENGTH)}…`;
}
