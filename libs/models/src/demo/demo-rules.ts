import { JsonScan } from '#platform';

/** Patterns of cities and regions that users ask the time of, as whole words, with their IANA zone. */
const ZONES: readonly (readonly [string, string])[] = [
  ['amsterdam', 'Europe/Amsterdam'],
  ['athens', 'Europe/Athens'],
  ['auckland', 'Pacific/Auckland'],
  ['bangkok', 'Asia/Bangkok'],
  ['beijing|shanghai|china', 'Asia/Shanghai'],
  ['berlin|munich|hamburg|germany', 'Europe/Berlin'],
  ['bogot[aá]', 'America/Bogota'],
  ['brussels', 'Europe/Brussels'],
  ['buenos aires', 'America/Argentina/Buenos_Aires'],
  ['cairo', 'Africa/Cairo'],
  ['cape town|johannesburg', 'Africa/Johannesburg'],
  ['chicago', 'America/Chicago'],
  ['copenhagen', 'Europe/Copenhagen'],
  ['delhi|mumbai|bangalore|kolkata|india', 'Asia/Kolkata'],
  ['denver', 'America/Denver'],
  ['dubai', 'Asia/Dubai'],
  ['dublin', 'Europe/Dublin'],
  ['helsinki', 'Europe/Helsinki'],
  ['hong kong', 'Asia/Hong_Kong'],
  ['honolulu|hawaii', 'Pacific/Honolulu'],
  ['istanbul', 'Europe/Istanbul'],
  ['jakarta', 'Asia/Jakarta'],
  ['kathmandu|nepal', 'Asia/Kathmandu'],
  ['lagos', 'Africa/Lagos'],
  ['lisbon', 'Europe/Lisbon'],
  ['london', 'Europe/London'],
  ['los angeles|san francisco|seattle|california', 'America/Los_Angeles'],
  ['madrid', 'Europe/Madrid'],
  ['mexico city', 'America/Mexico_City'],
  ['moscow', 'Europe/Moscow'],
  ['nairobi', 'Africa/Nairobi'],
  ['new york|boston|washington', 'America/New_York'],
  ['oslo', 'Europe/Oslo'],
  ['paris', 'Europe/Paris'],
  ['prague', 'Europe/Prague'],
  ['rome|milan', 'Europe/Rome'],
  ['s[aã]o paulo|rio de janeiro', 'America/Sao_Paulo'],
  ['seoul', 'Asia/Seoul'],
  ['singapore', 'Asia/Singapore'],
  ['stockholm', 'Europe/Stockholm'],
  ['sydney|melbourne', 'Australia/Sydney'],
  ['taipei', 'Asia/Taipei'],
  ['tokyo|osaka|japan', 'Asia/Tokyo'],
  ['toronto', 'America/Toronto'],
  ['vienna', 'Europe/Vienna'],
  ['warsaw', 'Europe/Warsaw'],
  ['z[uü]rich', 'Europe/Zurich'],
  ['utc|gmt', 'UTC'],
];

const patterns = ZONES.map(([words, zone]) => ({
  pattern: new RegExp(`(?<![\\p{L}])(?:${words})(?![\\p{L}])`, 'iu'),
  zone,
}));

const zoneName =
  /\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)\/[A-Za-z_]+(?:\/[A-Za-z_]+)?/g;

/** The time zones that a text asks about, in the order of the text: IANA names, and the zones of cities. */
function findZones(text: string): string[] {
  const named = [...text.matchAll(zoneName)];
  const rest = text.replace(zoneName, (name) => ' '.repeat(name.length));
  const guessed = patterns.flatMap(({ pattern, zone }) => {
    const match = pattern.exec(rest);
    return match === null ? [] : [{ at: match.index, zone }];
  });
  const found = [...named.map((match) => ({ at: match.index, zone: match[0] })), ...guessed].sort(
    (a, b) => a.at - b.at,
  );
  return [...new Set(found.map(({ zone }) => zone))];
}

/** The demo model's name, as `model` of requests and responses. The name identifies it as a demo. */
export const DEMO_MODEL_NAME = 'nightshift-demo';

/** A call that the demo model wants to make. */
export interface DemoCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The calls that the demo model derives from a question. */
export interface DemoPlan {
  /** Calls to tools that are offered. */
  readonly calls: readonly DemoCall[];
  /** Tools that the question needs and that the request does not offer. */
  readonly missing: readonly string[];
}

/** The rules read this many characters of a question, so that a long one costs a bounded time. */
const maxQuestion = 20_000;

/**
 * The rules: "use tool X {json}" requests that tool. Otherwise, words about time request `get_current_time`, once for each place, and arithmetic
 * requests `calculate`. Only offered tools are called. Pure.
 */
export function planAnswer(input: string, offered: readonly string[]): DemoPlan {
  const question = input.slice(0, maxQuestion);
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

/** The first `{…}` whose braces and brackets are closed, if it is valid JSON; else empty. Only that text is parsed. */
function firstJsonObject(text: string): Readonly<Record<string, unknown>> {
  const start = text.indexOf('{');
  if (start === -1) return {};
  const scan = new JsonScan({ depth: 1_000, tokens: maxQuestion });
  for (let from = start, end = text.indexOf('}', from); end !== -1; from = end + 1, end = text.indexOf('}', from)) {
    if (scan.push(Buffer.from(text.slice(from, end + 1))) !== null) return {};
    if (!scan.isClosed) continue;
    try {
      return { ...(JSON.parse(text.slice(start, end + 1)) as object) }; // a text that begins with a brace is an object
    } catch {
      return {};
    }
  }
  return {};
}

function timeCalls(question: string): DemoCall[] {
  if (!/\b(?:time|clock|date|today|now|hour|day is it)\b/i.test(question)) return [];
  const zones = findZones(question).slice(0, 5);
  if (zones.length > 0) return zones.map((timezone) => ({ name: 'get_current_time', arguments: { timezone } }));
  // "It takes 3 hours" and "3 times 4" do not ask for the time.
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

/** A sequence of numbers, operators, parentheses and known functions. */
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

/** True for a number with an operator or a function; false for a date (2026-11-20). */
function isExpression(run: string): boolean {
  if (!/\d/.test(run) || /^\d{4}-\d{1,2}(?:-\d{1,2})?$/.test(run)) return false;
  return /[\d)]\s*[-+*/%^]\s*[\d(.a-z-]/i.test(run) || /[a-z]\s*\(/i.test(run);
}
