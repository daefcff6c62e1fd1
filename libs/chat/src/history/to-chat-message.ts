import type { ChatMessage, ContentPart, MessageContent, MessageToolCall } from '#models';

/**
 * Converts a message from a client to the provider's format, tolerantly: `content` is a string, an array of parts, or an object with the
 * members of a whole message (`content`, `tool_calls`, `tool_call_id`, `name`). Returns null if it cannot be converted. `developer` counts as
 * `system`. Tool calls and results may still be inconsistent: see `repairConversation`.
 */
export function toChatMessage(role: string, content: unknown): ChatMessage | null {
  const whole: Readonly<Record<string, unknown>> = isRecord(content) ? content : { content };
  const text = toContent(whole['content']);
  const name = typeof whole['name'] === 'string' && whole['name'] !== '' ? { name: whole['name'] } : {};
  switch (role) {
    case 'system':
    case 'developer':
      return text === null ? null : { role: 'system', content: text, ...name };
    case 'user':
      return text === null ? null : { role: 'user', content: text, ...name };
    case 'assistant': {
      const calls = toCalls(whole['tool_calls']);
      return { role, content: text, ...name, ...(calls.length > 0 && { tool_calls: calls }) };
    }
    case 'tool': {
      const id = whole['tool_call_id'];
      return { role, tool_call_id: typeof id === 'string' ? id : '', content: text ?? '' };
    }
    default:
      return null;
  }
}

function toContent(value: unknown): MessageContent | null {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.filter(isPart) : null;
}

/** Parts of unknown types are sent to the provider unchanged. */
function isPart(value: unknown): value is ContentPart {
  if (!isRecord(value) || typeof value['type'] !== 'string') return false;
  return value['type'] !== 'text' || typeof value['text'] === 'string';
}

function toCalls(value: unknown): readonly MessageToolCall[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isRecord).map((call) => {
    const asked: Readonly<Record<string, unknown>> = isRecord(call['function']) ? call['function'] : {};
    return {
      id: textOf(call['id']),
      type: 'function',
      function: { name: textOf(asked['name']), arguments: textOf(asked['arguments']) },
    };
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
