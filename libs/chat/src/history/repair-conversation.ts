import type { AssistantMessage, ChatMessage, MessageToolCall, ToolMessage } from '#models';

import { toProviderArguments, toProviderName } from './round-messages.js';

const NO_RESULT = 'Tool result not available';

/**
 * The same conversation as every provider accepts it. After each assistant message with tool calls come exactly its results, in
 * the order of the calls; a call without one gets `Tool result not available`; a result without its call, and every further one,
 * is dropped. Ids are unique in the whole conversation (repeated and empty ones are renamed, calls and results alike). An
 * assistant message that says nothing is dropped. Valid conversations come back unchanged. Pure.
 */
export function repairConversation(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const repaired: ChatMessage[] = [];
  const used = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === 'tool') return; // comes in right behind its call, or is nobody's
    if (message.role !== 'assistant') repaired.push(message);
    else if ((message.tool_calls ?? []).length > 0)
      repaired.push(...answer(message, resultsAfter(messages, index), used));
    else if (message.content !== null && message.content.length > 0) repaired.push(withoutCalls(message));
  });
  return repaired;
}

/** The results up to the next assistant message, by id; several with one id keep their order. */
function resultsAfter(messages: readonly ChatMessage[], index: number): Map<string, ToolMessage[]> {
  const end = messages.findIndex((message, at) => at > index && message.role === 'assistant');
  const turn = messages.slice(index + 1, end === -1 ? undefined : end);
  return Map.groupBy(
    turn.filter((message) => message.role === 'tool'),
    (message) => message.tool_call_id,
  );
}

function answer(
  message: AssistantMessage,
  results: Map<string, ToolMessage[]>,
  used: Set<string>,
): readonly ChatMessage[] {
  const calls: MessageToolCall[] = [];
  const answers: ToolMessage[] = [];
  for (const call of message.tool_calls ?? []) {
    const id = freeId(call.id, used);
    const { name, arguments: args } = call.function;
    calls.push({
      id,
      type: 'function',
      function: { name: toProviderName(name), arguments: toProviderArguments(args) },
    });
    const content = results.get(call.id)?.shift()?.content ?? NO_RESULT;
    answers.push({ role: 'tool', tool_call_id: id, content });
  }
  const content = message.content === null || message.content.length === 0 ? null : message.content;
  return [{ ...message, content, tool_calls: calls }, ...answers];
}

function freeId(given: string, used: Set<string>): string {
  const base = given === '' ? 'call' : given;
  let id = given === '' ? 'call_1' : given;
  for (let n = 2; used.has(id); n++) id = `${base}_${n}`;
  used.add(id);
  return id;
}

/** An empty list of calls is refused by providers like a missing result. */
function withoutCalls(message: AssistantMessage): AssistantMessage {
  const { role, content, name } = message;
  return message.tool_calls === undefined ? message : { role, content, ...(name !== undefined && { name }) };
}
