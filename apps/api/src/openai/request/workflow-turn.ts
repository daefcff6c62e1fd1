import type { ChatMessage } from '#models';

/** The input of a workflow: the last message of the user, and the messages before it. */
export interface WorkflowTurn {
  readonly prompt: string;
  /** URLs. */
  readonly images: readonly string[];
  readonly history: readonly ChatMessage[];
}

/** For prepared messages, of which one is a user's. Pure. */
export function toWorkflowTurn(messages: readonly ChatMessage[]): WorkflowTurn {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const content = messages[at]?.content ?? '';
  const history = messages.slice(0, Math.max(0, at));
  if (typeof content === 'string') return { prompt: content, images: [], history };
  return {
    prompt: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
    images: content.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : [])),
    history,
  };
}
