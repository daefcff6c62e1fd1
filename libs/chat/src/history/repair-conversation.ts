import type { AssistantMessage, ChatMessage, MessageToolCall, ToolMessage } from '#models';

import { toProviderArguments, toProviderName } from './round-messages.js';

const NO_RESULT = 'Tool result not available';

/**
 * Makes a conversation valid for every provider. Each assistant message with tool calls is followed by one result for each call, in the order
 * of the calls. A call without a result gets `Tool result not available`; results without a call and second results are dropped. Ids are
 * unique in the conversation (repeated and empty ones are renamed, in calls and results). An empty assistant message is dropped. A valid
 * conversation is returned unchanged. Pure.
 */
export function repairConversation(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const repaired: ChatMessage[] = [];
  const used = new UsedIds();
  messages.forEach((message, index) => {
    if (message.role === 'tool') return; // Results are added after their call.
    if (message.role !== 'assistant') repaired.push(message);
    else if ((message.tool_calls ?? []).length > 0)
      repaired.push(...answer(message, resultsAfter(messages, index), used));
    else if (message.content !== null && message.content.length > 0) repaired.push(withoutCalls(message));
  });
  return repaired;
}

/** The results up to the next assistant message, by id; several results with the same id keep their order. */
function resultsAfter(messages: readonly ChatMessage[], index: number): Map<string, ToolMessage[]> {
  let end = index + 1;
  while (end < messages.length && messages[end]?.role !== 'assistant') end++;
  const turn = messages.slice(index + 1, end);
  return Map.groupBy(
    turn.filter((message) => message.role === 'tool'),
    (message) => message.tool_call_id,
  );
}

function answer(message: AssistantMessage, results: Map<string, ToolMessage[]>, used: UsedIds): readonly ChatMessage[] {
  const calls: MessageToolCall[] = [];
  const answers: ToolMessage[] = [];
  for (const call of message.tool_calls ?? []) {
    const id = used.free(call.id);
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

/** The ids of a conversation. Finding a free id takes constant time, even if an id is repeated often. */
class UsedIds {
  private readonly ids = new Set<string>();
  /** By original id: the number of the next variant to try. */
  private readonly next = new Map<string, number>();

  free(given: string): string {
    let id = given;
    let n = this.next.get(given) ?? (given === '' ? 1 : 2);
    for (; id === '' || this.ids.has(id); n++) id = `${given === '' ? 'call' : given}_${n}`;
    this.next.set(given, n);
    this.ids.add(id);
    return id;
  }
}

/** Providers refuse an empty list of calls. */
function withoutCalls(message: AssistantMessage): AssistantMessage {
  const { role, content, name } = message;
  return message.tool_calls === undefined ? message : { role, content, ...(name !== undefined && { name }) };
}
