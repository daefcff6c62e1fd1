import type { StartChat } from '#chat';

/** One message in a new thread, one tool: the work of every bench. */
export const benchChat: StartChat = {
  threadRef: null,
  createThread: true,
  messageClientId: null,
  model: null,
  messages: [{ role: 'user', content: 'What is 6 * 7? Tell me a long story about it.' }],
  history: 'thread',
  tools: ['calculate'],
  toolRuntimes: {},
  toolChoice: null,
  parameters: {},
  whenBusy: null,
  idempotency: null,
  providerKey: null,
  backgroundMode: undefined,
};
