import { usageError } from './cli.errors.js';
import type { CommandLine } from './command-line.js';

/** `a,b` and `a b` as a list of words. */
export function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** Words of an enum of the API, in any case. Throws a usage error that lists those there are. */
export function enumWords<Word extends string>(text: string, known: readonly Word[], flag: string): Word[] {
  return listOf(text).map((word) => {
    const found = known.find((name) => name === word.toUpperCase().replaceAll('-', '_'));
    if (found !== undefined) return found;
    throw usageError(
      `${flag} does not allow "${word}".`,
      `Allowed: ${known.map((name) => name.toLowerCase()).join(', ')}.`,
    );
  });
}

/** One word of an enum of the API, in any case. */
export function enumWord<Word extends string>(text: string, known: readonly Word[], flag: string): Word {
  const [word, ...more] = enumWords(text, known, flag);
  if (word !== undefined && more.length === 0) return word;
  throw usageError(`${flag} allows only one value.`, `Allowed: ${known.map((name) => name.toLowerCase()).join(', ')}.`);
}

/** A whole number from a flag. */
export function wholeNumber(text: string, flag: string, least = 0): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least && text.trim() !== '') return number;
  throw usageError(`${flag} must be a whole number from ${least}, not "${text}".`);
}

/** JSON from a flag. `example` is how it is written on the command line. */
export function jsonOf(
  text: string,
  flag: string,
  example: (command: CommandLine) => string = () => `${flag} '{"name": "value"}'`,
): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw usageError(`${flag} must be JSON: ${why}`, (command) => `Example: ${example(command)}`);
  }
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `30m`, `2h`, `7d` before now, or a date. */
export function instantOf(text: string, flag: string, now: number): Date {
  const [, amount, unit] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  const at = unit === undefined ? new Date(text) : new Date(now - Number(amount) * (units[unit] ?? 0));
  if (!Number.isNaN(at.getTime())) return at;
  throw usageError(
    `${flag} must be a duration or a date, not "${text}".`,
    `Example: ${flag} 2h or ${flag} 2026-11-22.`,
  );
}
