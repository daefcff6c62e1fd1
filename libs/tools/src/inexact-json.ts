const LONGEST_SHOWN = 40;
/** Strings (with the colon that makes one the name of a member), numbers, and the brackets of objects and arrays. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*|[{}[\]]/g;
const SMALL_INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Why `text`, which is valid JSON, would change its meaning when it is parsed and written again: a number that a double cannot
 * hold (beyond 2^53, 1e400, -0, too many digits), a member that is named twice, or `__proto__`. A clause without a full stop;
 * undefined when every reader gets what was written. Linear in the text. Pure.
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

/** Why arguments that arrived as a part of a larger body are refused; see `mayBeRounded`. */
export const ROUNDED_PROBLEM = 'integers beyond 2^53 cannot be passed on exactly; write them as text';

/** Whether a number that was read from JSON may have been another one in its text: it is beyond the integers of a double. */
export function mayBeRounded(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isSafeInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(mayBeRounded);
}

/** Whether JSON's own text of the parsed number is the same decimal. */
function isExact(number: string): boolean {
  if (SMALL_INTEGER.test(number)) return true;
  const decimal = decimalOf(number);
  return decimal !== undefined && decimal === decimalOf(JSON.stringify(Number(number)));
}

/** Sign, significant digits and power of ten: equal for the same decimal, however it is written. */
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
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}
