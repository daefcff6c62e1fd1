import type { StartChat } from '#chat';

/** Tools that only `chaos-process.main.ts` has; a request advertises them whole. */
const remote = new Set(['look_up', 'charge', 'send_letter']);

/** A question in a thread of its own, with the named tools. */
export function chat(text: string, tools: readonly string[]): StartChat {
  return {
    threadRef: null,
    createThread: true,
    messageClientId: null,
    model: null,
    messages: [{ role: 'user', content: text }],
    history: 'thread',
    tools: tools.map((name) => (remote.has(name) ? definitionOf(name) : name)),
    toolRuntimes: {},
    toolChoice: null,
    parameters: {},
    whenBusy: null,
    idempotency: null,
    providerKey: null,
    backgroundMode: undefined,
  };
}

function definitionOf(name: string) {
  return {
    type: 'function',
    function: { name, description: name, parameters: { type: 'object', properties: {} } },
  } as const;
}
