import type { ChatMessage, ContentPart, MessageContent, MessageToolCall } from '#models';

/**
 * A message from outside as the provider's shape, read with tolerance: `content` is a string, an array of pieces, or an object
 * with the members of a whole message (`content`, `tool_calls`, `tool_call_id`, `name`). Null when nothing can be made of it.
 * `developer` counts as `system`. What the message says about tool calls may still be wrong: see `repairConversation`.
 */
export function toChatMessage(role: string, content: unknown): ChatMessage | null {
  const whole: Readonly<Record<string, unknown>> = isRecord(content) ? content : { content };
  const said = toContent(whole['content']);
  const name = typeof whole['name'] === 'string' && whole['name'] !== '' ? { name: whole['name'] } : {};
  switch (role) {
    case 'system':
    case 'developer':
      return said === null ? null : { role: 'system', content: said, ...name };
    case 'user':
      return said === null ? null : { role: 'user', content: said, ...name };
    case 'assistant': {
      const calls = toCalls(whole['tool_calls']);
      return { role, content: said, ...name, ...(calls.length > 0 && { tool_calls: calls }) };
    }
    case 'tool': {
      const id = whole['tool_call_id'];
      return { role, tool_call_id: typeof id === 'string' ? id : '', content: said ?? '' };
    }
    default:
      return null;
  }
}

function toContent(value: unknown): MessageContent | null {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.filter(isPart) : null;
}

/** Pieces of kinds that we do not know are the provider's business: they pass as they are. */
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
