import { DEMO_MODEL_NAME } from './demo-rules.js';

const STAND_IN = `I am ${DEMO_MODEL_NAME}, a rule-based stand-in and not a language model`;
/** Must not match a rule of `planAnswer`, because the next node of a workflow reads it. */
const HELP =
  'I only call tools that the request offers, such as get_current_time and calculate. ' +
  'For real answers, set MODEL_BASE_URL, OPENROUTER_API_KEY or OPENAI_API_KEY.';
const QUOTE_OPENING = 'You said: ';
const NO_TOOLS = `${STAND_IN}: without tools I know nothing.`;
const ALL_I_KNOW = `That is all I know: ${STAND_IN}, so I only repeat what tools say.`;
const MAX_QUOTE_LENGTH = 400;

/** The text for a question that needs no tool. Repeats what earlier texts of the demo model in the question repeat. */
export function plainText(question: string): string {
  return `${STAND_IN}. ${QUOTE_OPENING}"${quote(unwrapped(question))}". ${HELP}`;
}

/** The text for a question that needs tools that the request does not offer. */
export function missingText(tools: readonly string[]): string {
  return `That needs the tool ${tools.join(' and ')}, which this request does not offer. ${NO_TOOLS}`;
}

/** The text that repeats the results of tools. */
export function resultsText(results: readonly { readonly tool: string; readonly text: string }[]): string {
  const noun = results.length === 1 ? 'the tool' : `${results.length} tools`;
  const lines = results.map(({ tool, text }) => `- ${tool} says: ${quote(text)}`);
  return `I asked ${noun} for you:\n${lines.join('\n')}\n${ALL_I_KNOW}`;
}

/** A text above within another text, from `opening` to `ending`. A JSON text may have escaped its quotes and line ends. */
interface OwnText {
  readonly opening: RegExp;
  readonly ending: string;
  /** The part that a further text repeats. */
  readonly repeated: (inner: string) => string;
}

const ownTexts: readonly OwnText[] = [
  {
    opening: new RegExp(`${STAND_IN}\\. ${QUOTE_OPENING}`),
    ending: `. ${HELP}`,
    repeated: unquoted,
  },
  {
    opening: /That needs the tool /,
    ending: `, which this request does not offer. ${NO_TOOLS}`,
    repeated: (tools) => `That needs the tool ${tools}, which this request does not offer.`,
  },
  { opening: /I asked (?:the tool|\d{1,6} tools) for you:/, ending: ALL_I_KNOW, repeated: trimEscaped },
];

/** Removes texts of the demo model from a question: a node whose input is the output of an earlier node does not call the tools that it names. Pure. */
export function withoutOwnTexts(question: string): string {
  return replaceOwnTexts(question, () => ' ');
}

/** Replaces texts of the demo model by what they repeat. */
function unwrapped(question: string): string {
  return replaceOwnTexts(question, ({ repeated }, inner) => repeated(inner));
}

/** Takes time linear in the length of the question, which anybody may send. */
function replaceOwnTexts(question: string, toText: (own: OwnText, inner: string) => string): string {
  return ownTexts.reduce((text, own) => {
    const parts: string[] = [];
    let at = 0;
    for (let end = text.indexOf(own.ending); end !== -1; end = text.indexOf(own.ending, at)) {
      const before = text.slice(at, end);
      const opening = own.opening.exec(before);
      if (opening === null) parts.push(before, own.ending);
      else parts.push(before.slice(0, opening.index), toText(own, before.slice(opening.index + opening[0].length)));
      at = end + own.ending.length;
    }
    return parts.join('') + text.slice(at);
  }, question);
}

/** Removes a quote at both ends, with the backslashes that escape it. */
function unquoted(text: string): string {
  const from = text.indexOf('"') + 1;
  let to = text.lastIndexOf('"');
  if (to < from) return text;
  while (text[to - 1] === '\\' && to > from) to -= 1;
  return text.slice(from, to);
}

/** Removes white space and escaped line ends at both ends. */
function trimEscaped(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && (isSpace(text[from]) || text.startsWith('\\n', from))) from += isSpace(text[from]) ? 1 : 2;
  while (from < to && (isSpace(text[to - 1]) || text.endsWith('\\n', to))) to -= isSpace(text[to - 1]) ? 1 : 2;
  return text.slice(from, to);
}

const isSpace = (character = '') => character.trim() === '';

function quote(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= MAX_QUOTE_LENGTH ? trimmed : `${trimmed.slice(0, MAX_QUOTE_LENGTH).toWellFormed()}…`;
}
