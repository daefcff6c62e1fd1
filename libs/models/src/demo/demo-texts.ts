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

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
/** The texts above, in which a JSON text may have escaped the quotes and line ends. Group 1 is the part that a further text repeats. */
const ownTexts: readonly RegExp[] = [
  `${escaped(STAND_IN)}\\. ${QUOTE_OPENING}\\\\*"([^]*?)\\\\*"\\. ${escaped(HELP)}`,
  `(That needs the tool [\\w., -]{1,2000}?, which this request does not offer\\.) ${escaped(NO_TOOLS)}`,
  `I asked (?:the tool|\\d+ tools) for you:(?:\\s|\\\\n)*([^]*?)(?:\\s|\\\\n)*${escaped(ALL_I_KNOW)}`,
].map((pattern) => new RegExp(pattern, 'g'));

/** Removes texts of the demo model from a question: a node whose input is the output of an earlier node does not call the tools that it names. Pure. */
export function withoutOwnTexts(question: string): string {
  return ownTexts.reduce((text, pattern) => text.replaceAll(pattern, ' '), question);
}

/** Replaces texts of the demo model by what they repeat. */
function unwrapped(question: string): string {
  return ownTexts.reduce((text, pattern) => text.replaceAll(pattern, '$1'), question);
}

function quote(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= MAX_QUOTE_LENGTH ? trimmed : `${trimmed.slice(0, MAX_QUOTE_LENGTH).toWellFormed()}…`;
}
