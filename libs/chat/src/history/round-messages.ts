import { approvalReceipts, type ReceiptCall } from '#approvals';
import type { AssistantMessage, ChatMessage } from '#models';
import { readArguments } from '#tools';

/** A call with the result that the model reads. */
export interface AnsweredCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly text: string;
  readonly receipt?: Omit<ReceiptCall, 'callId'>;
}

/**
 * A round as provider-valid messages: the assistant's response and exactly one result for each of its calls, in their order. A round without
 * text and calls is left out, because providers refuse an empty message. If people decided about calls, a receipt of the server follows the
 * results, where no tool output can replace it.
 */
export function roundMessages(round: { text: string; calls: readonly AnsweredCall[] }): readonly ChatMessage[] {
  const { text, calls } = round;
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const answer: AssistantMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: calls.map((call) => ({
      id: call.callId,
      type: 'function',
      function: { name: toProviderName(call.name), arguments: toProviderArguments(call.arguments) },
    })),
  };
  const receipts = approvalReceipts(
    calls.flatMap(({ callId, receipt }) => (receipt === undefined ? [] : [{ callId, ...receipt }])),
  );
  return [
    answer,
    ...calls.map((call): ChatMessage => ({ role: 'tool', tool_call_id: call.callId, content: call.text })),
    ...(receipts === null ? [] : [{ role: 'system', content: receipts } as const]),
  ];
}

/** Replaces an invalid tool name, such as one that the model invented: providers refuse a request whose history contains it. */
export function toProviderName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64);
  return plain === '' ? 'unnamed' : plain;
}

/** Like `toProviderName`, for arguments: text that is not a JSON object becomes an empty object. The call's result explains the error. */
export function toProviderArguments(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // truncated text is completed below
  }
  const parsed = readArguments(text);
  return parsed.ok ? JSON.stringify(parsed.value) : '{}';
}
