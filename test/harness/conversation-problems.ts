import type { ChatMessage } from '#models';

/**
 * The reasons why a provider would reject a conversation, one clause each; empty when it is valid. The rules are those of OpenAI's chat
 * completions and of the stricter providers behind the same protocol. For tests: it shares no code with the history builder.
 */
export function conversationProblems(messages: readonly ChatMessage[]): readonly string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  const open: string[] = [];
  for (const [at, message] of messages.entries()) {
    const say = (problem: string): number => problems.push(`message ${at}: ${problem}`);
    if (message.role === 'tool') {
      const index = open.indexOf(message.tool_call_id);
      if (index === -1) say(`a result for "${message.tool_call_id}", which is not open`);
      else open.splice(index, 1);
      continue;
    }
    if (open.length > 0) say(`calls without a result: ${open.splice(0).join(', ')}`);
    if (message.role !== 'assistant') continue;
    const calls = message.tool_calls ?? [];
    if (message.tool_calls !== undefined && calls.length === 0) say('an empty list of calls');
    if (calls.length === 0 && (message.content ?? '').length === 0) say('an empty assistant message');
    for (const { id, function: asked } of calls) {
      if (id === '' || seen.has(id)) say(`call id "${id}" is empty or was used before`);
      if (!/^[A-Za-z0-9_.-]{1,64}$/.test(asked.name)) say(`call name "${asked.name}" is not acceptable`);
      if (!isJsonObject(asked.arguments)) say(`arguments of "${id}" are not a JSON object`);
      seen.add(id);
      open.push(id);
    }
  }
  if (open.length > 0) problems.push(`at the end: calls without a result: ${open.join(', ')}`);
  return problems;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
