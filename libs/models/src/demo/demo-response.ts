import { z } from 'zod';

import { DEMO_MODEL_NAME, type DemoCall, planAnswer } from './demo-rules.js';

const content = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .nullish();
const call = z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string() }) });

/** The fields of a request that the demo model reads. It ignores all other fields, as providers do. */
export const demoRequest = z.looseObject({
  model: z.string().optional(),
  messages: z
    .array(
      z.looseObject({
        role: z.string(),
        content,
        tool_calls: z.array(call).nullish(),
        tool_call_id: z.string().optional(),
      }),
    )
    .min(1),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({ function: z.looseObject({ name: z.string() }) })]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
});

export type DemoRequest = z.infer<typeof demoRequest>;

/** The demo model's response: text or calls. */
export interface DemoResponse {
  readonly text: string;
  readonly calls: readonly DemoCall[];
}

const STAND_IN = `I am ${DEMO_MODEL_NAME}, a rule-based stand-in and not a language model`;
const MAX_QUOTE_LENGTH = 400;

/** Responds by rules. Pure: the same request gives the same response. */
export function answerByRules(request: DemoRequest): DemoResponse {
  // Notes of the server (approval receipts, limits) may follow the results.
  const last = request.messages.findLast(({ role }) => role !== 'system');
  if (last?.role === 'tool') return { text: quoteResults(request), calls: [] };
  const question = lastQuestion(request);
  const offered = request.tool_choice === 'none' ? [] : (request.tools ?? []).map((tool) => tool.function.name);
  const plan = planAnswer(question, offered);
  const calls = chosen(request, offered, plan.calls);
  if (calls.length > 0) return { text: '', calls: request.parallel_tool_calls === false ? calls.slice(0, 1) : calls };
  return { text: plainAnswer(question, plan.missing), calls: [] };
}

/** A forced tool choice takes precedence over the rules. */
function chosen(request: DemoRequest, offered: readonly string[], calls: readonly DemoCall[]): readonly DemoCall[] {
  const { tool_choice } = request;
  if (typeof tool_choice === 'object' && tool_choice !== null) {
    const { name } = tool_choice.function;
    const fitting = calls.filter((planned) => planned.name === name);
    return fitting.length > 0 || !offered.includes(name) ? fitting : [{ name, arguments: {} }];
  }
  const [first] = offered;
  return tool_choice === 'required' && calls.length === 0 && first !== undefined
    ? [{ name: first, arguments: {} }]
    : calls;
}

function lastQuestion(request: DemoRequest): string {
  return toText(request.messages.findLast(({ role }) => role === 'user')?.content);
}

function toText(value: DemoRequest['messages'][number]['content']): string {
  if (typeof value === 'string') return value;
  return (value ?? []).map((part) => part.text ?? '').join('\n');
}

/** The results after the last question, each with the name of its tool. */
function quoteResults(request: DemoRequest): string {
  const { messages } = request;
  const from = messages.findLastIndex(({ role }) => role === 'user');
  const names = new Map(
    messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((made) => [made.id, made.function.name])),
  );
  const results = messages.slice(from + 1).filter(({ role }) => role === 'tool');
  const lines = results.map(
    (result) => `- ${names.get(result.tool_call_id ?? '') ?? 'a tool'} says: ${quote(toText(result.content))}`,
  );
  const noun = results.length === 1 ? 'the tool' : `${results.length} tools`;
  return `I asked ${noun} for you:\n${lines.join('\n')}\nThat is all I can tell: ${STAND_IN}, so I only repeat what tools say.`;
}

function plainAnswer(question: string, missing: readonly string[]): string {
  if (missing.length > 0) {
    return `That needs the tool ${missing.join(' and ')}, which this request does not offer. ${STAND_IN}: without tools I know nothing.`;
  }
  return (
    `${STAND_IN}. You said: "${quote(question)}". Ask me for the time in a city, for some arithmetic, or to use a tool by its ` +
    'name ("use tool X {"key": "value"}"), and offer those tools. For real answers, set MODEL_BASE_URL, OPENROUTER_API_KEY or OPENAI_API_KEY.'
  );
}

function quote(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= MAX_QUOTE_LENGTH ? trimmed : `${trimmed.slice(0, MAX_QUOTE_LENGTH).toWellFormed()}…`;
}
