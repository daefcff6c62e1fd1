import { findZones } from './demo-zones.js';

/** The demo model's name, as `model` of requests and responses. The name identifies it as a demo. */
export const DEMO_MODEL_NAME = 'nightshift-demo';

/** A call the demo model would like to make. */
export interface DemoCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What the demo model understood of a question. */
export interface DemoPlan {
  /** Calls to tools that are offered. */
  readonly calls: readonly DemoCall[];
  /** Tools the question needs and the request does not offer. */
  readonly missing: readonly string[];
}

/**
 * The rules: "use tool X {json}" asks for that tool; otherwise words about time ask for `get_current_time`, once per place, and
 * arithmetic asks for `calculate`. Only what is offered is ever called. Pure.
 */
export function planAnswer(question: string, offered: readonly string[]): DemoPlan {
  const explicit = findExplicitUse(question);
  const wanted = explicit === undefined ? [...timeCalls(question), ...arithmeticCalls(question)] : [explicit];
  const isOffered = (call: DemoCall) => offered.includes(call.name);
  return {
    calls: wanted.filter(isOffered),
    missing: [...new Set(wanted.filter((call) => !isOffered(call)).map((call) => call.name))],
  };
}

function findExplicitUse(question: string): DemoCall | undefined {
  const match = /\b(?:use|call|run)\s+(?:the\s+)?tool\s+["'`]?([\w.-]{1,64})["'`]?/i.exec(question);
  const name = match?.[1]?.replace(/[.-]+$/, '');
  if (match === null || name === undefined || name === '') return undefined;
  return { name, arguments: firstJsonObject(question.slice(match.index)) };
}

/** The first `{…}` that parses; a question without one means no arguments. */
function firstJsonObject(text: string): Readonly<Record<string, unknown>> {
  const start = text.indexOf('{');
  for (let end = text.indexOf('}', start); start !== -1 && end !== -1; end = text.indexOf('}', end + 1)) {
    try {
      const value: unknown = JSON.parse(text.slice(start, end + 1));
      if (typeof value === 'object' && value !== null) return { ...value };
    } catch {
      // a brace inside: the next one may close it
    }
    if (end - start > 10_000) break;
  }
  return {};
}

function timeCalls(question: string): DemoCall[] {
  if (!/\b(?:time|clock|date|today|now|hour|day is it)\b/i.test(question)) return [];
  const zones = findZones(question).slice(0, 5);
  if (zones.length > 0) return zones.map((timezone) => ({ name: 'get_current_time', arguments: { timezone } }));
  // "It takes 3 hours" and "3 times 4" are not about the clock.
  const isAsked =
    /\bwhat(?:'s| is)?\s+(?:the\s+)?(?:\w+\s+)?(?:time|date|day)\b|\b(?:current|right now|today|o'clock)\b/i.test(
      question,
    );
  return isAsked ? [{ name: 'get_current_time', arguments: {} }] : [];
}

const SPOKEN: readonly (readonly [RegExp, string])[] = [
  [/(?<=\d)\s*[×x]\s*(?=\d)/gi, ' * '],
  [/÷/g, '/'],
  [/[−–]/g, '-'],
  [/\bto the power of\b/gi, '^'],
  [/\b(?:times|multiplied by)\b/gi, '*'],
  [/\bdivided by\b/gi, '/'],
  [/\bplus\b/gi, '+'],
  [/\bminus\b/gi, '-'],
  [/(?<=\d),(?=\d{3}\b)/g, ''],
];

/** A run of numbers, operators, parentheses and known functions. */
const RUN = /(?:\b(?:sqrt|abs|round|floor|ceil|min|max|log|ln|exp|sin|cos|tan|pow|pi)\b|[\d\s.,+\-*/%^()])+/gi;

function arithmeticCalls(question: string): DemoCall[] {
  const spoken = SPOKEN.reduce((text, [pattern, sign]) => text.replace(pattern, sign), question.slice(0, 2_000));
  return [...spoken.matchAll(RUN)]
    .map(([run]) => trimExpression(run))
    .filter((run) => isExpression(run))
    .slice(0, 5)
    .map((expression) => ({ name: 'calculate', arguments: { expression } }));
}

function trimExpression(run: string): string {
  return run
    .trim()
    .replace(/^[\s.,*/%^+)]+/, '')
    .replace(/[\s.,*/%^+(-]+$/, '');
}

/** A number and something to do with it; dates (2026-11-20) are no sums. */
function isExpression(run: string): boolean {
  if (!/\d/.test(run) || /^\d{4}-\d{1,2}(?:-\d{1,2})?$/.test(run)) return false;
  return /[\d)]\s*[-+*/%^]\s*[\d(.a-z-]/i.test(run) || /[a-z]\s*\(/i.test(run);
}
