import type { StartChat } from '#chat';

import { isRemoteTool, remoteInput } from './remote-tools.js';

/** A question in a thread of its own, with the named tools. Only `chaos-process.main.ts` has the remote ones: they go whole. */
export function chat(text: string, tools: readonly string[]): StartChat {
  return {
    threadRef: null,
    createThread: true,
    messageClientId: null,
    model: null,
    messages: [{ role: 'user', content: text }],
    history: 'thread',
    tools: tools.map((name) => (isRemoteTool(name) ? definitionOf(name) : name)),
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
    function: { name, description: name, parameters: remoteInput },
  } as const;
}
