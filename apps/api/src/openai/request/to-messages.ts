import type { ChatMessage, ContentPart, MessageContent } from '#models';

import type { CompletionBody } from './completion-body.js';

type GivenMessage = CompletionBody['messages'][number];
type GivenContent = GivenMessage['content'];

/** Messages as a body has them, in the shape of a conversation. Those of a person or a prompt that say nothing are left out. Pure. */
export function toMessages(given: readonly GivenMessage[]): readonly ChatMessage[] {
  return given.flatMap((message): readonly ChatMessage[] => {
    if (message.role === 'tool') {
      return [{ role: 'tool', tool_call_id: message.tool_call_id, content: textOf(message.content) ?? '' }];
    }
    const name = typeof message.name === 'string' && message.name !== '' ? { name: message.name } : {};
    if (message.role === 'assistant') {
      const calls = message.tool_calls ?? [];
      const content = textOf(message.content);
      return [{ role: 'assistant', content, ...name, ...(calls.length > 0 && { tool_calls: calls }) }];
    }
    const content = contentOf(message.content);
    if (content === null) return [];
    return [{ role: message.role === 'user' ? 'user' : 'system', content, ...name }];
  });
}

/** The content of a model or a tool is text, in any number of pieces. */
function textOf(content: GivenContent): string | null {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return null;
  return content
    .map((part) => (part.type === 'text' ? part.text : part.type === 'refusal' ? part.refusal : ''))
    .join('');
}

function contentOf(content: GivenContent): MessageContent | null {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return null;
  return content.map((part): ContentPart => {
    if (part.type === 'text') return part;
    if (part.type === 'refusal') return { type: 'text', text: part.refusal };
    const { url, detail } = part.image_url;
    return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
  });
}
