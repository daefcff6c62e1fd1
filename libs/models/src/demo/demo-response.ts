import { z } from 'zod';

import { type DemoCall, planAnswer } from './demo-rules.js';
import { missingText, plainText, resultsText, withoutOwnTexts } from './demo-texts.js';

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

/** Responds by rules. Pure: the same request gives the same response. */
export function answerByRules(request: DemoRequest): DemoResponse {
  // Notes of the server (approval receipts, limits) may follow the results.
  const last = request.messages.findLast(({ role }) => role !== 'system');
  if (last?.role === 'tool') return { text: quoteResults(request), calls: [] };
  const question = lastQuestion(request);
  const offered = request.tool_choice === 'none' ? [] : (request.tools ?? []).map((tool) => tool.function.name);
  const plan = planAnswer(withoutOwnTexts(question), offered);
  const calls = chosen(request, offered, plan.calls);
  if (calls.length > 0) return { text: '', calls: request.parallel_tool_calls === false ? calls.slice(0, 1) : calls };
  return { text: plan.missing.length > 0 ? missingText(plan.missing) : plainText(question), calls: [] };
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
  return resultsText(
    results.map((result) => ({
      tool: names.get(result.tool_call_id ?? '') ?? 'a tool',
      text: toText(result.content),
    })),
  );
}
