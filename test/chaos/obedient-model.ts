import type { Answerer } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

/** A call that the prompt orders. `to` is its only argument. */
export interface Order {
  readonly tool: string;
  readonly to: string;
}

/** The question that has the obedient model ask for these calls, round by round. */
export function orders(...rounds: readonly (readonly Order[])[]): string {
  return JSON.stringify(rounds);
}

interface Message {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly unknown[];
}

/** Requests the calls that the prompt orders, and finally returns the tool results that it received, one per line, then the receipts. */
export const followOrders: Answerer = ({ json }) => {
  const messages = json['messages'] as readonly Message[]; // as the model client writes them
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(asked + 1);
  const rounds = JSON.parse(messages[asked]?.content ?? '[]') as Order[][]; // written by `orders`
  const round = since.filter(({ tool_calls: calls = [] }) => calls.length > 0).length;
  const next = rounds[round];
  if (next === undefined) return textReply(read(since));
  return toolCallReply(
    next.map(({ tool, to }, i) => ({
      id: `call_${round + 1}_${i + 1}`,
      name: tool,
      arguments: JSON.stringify({ to }),
    })),
  );
};

function read(messages: readonly Message[]): string[] {
  return messages.filter(({ role }) => role !== 'assistant').map(({ content }) => `${content}\n`);
}
