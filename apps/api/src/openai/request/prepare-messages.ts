import type { ChatMessage } from '#models';

/** A settled call of the session. */
export interface SessionCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** As the model reads it. */
  readonly result: string;
}

/** The ids of blocks in the messages, each of which may be a call of the session: what to look up before preparing. Pure. */
export function callIdsIn(messages: readonly ChatMessage[]): readonly string[] {
  return messages.map(({ role }) => role);
}

/**
 * The conversation as the model is to read it: what an answer showed of tool calls is taken out of earlier assistant messages,
 * or put back as real call and result where it is one of `calls`; always valid. Throws `OpenAiError` when no user said anything.
 * Pure.
 */
export function prepareMessages(
  messages: readonly ChatMessage[],
  calls: ReadonlyMap<string, SessionCall>,
): readonly ChatMessage[] {
  return calls.size === 0 ? messages : [];
}

/** What a workflow is given: the last thing a user said, and what was said before. */
export interface WorkflowTurn {
  readonly prompt: string;
  readonly images: readonly string[];
  readonly history: readonly ChatMessage[];
}

/** For prepared messages. Pure. */
export function toWorkflowTurn(messages: readonly ChatMessage[]): WorkflowTurn {
  return { prompt: '', images: [], history: messages };
}
