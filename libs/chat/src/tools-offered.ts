import { type OfferedTool, resolveOffered, type WorkspaceTools } from '#tools';

import type { ChatInput } from './chat-input.js';

/** What a request's tools mean, once it is known who answers it. */
export function toolsOffered(input: ChatInput, tools: WorkspaceTools): readonly OfferedTool[] {
  const definitions = input.tools.flatMap((tool) => {
    const definition = typeof tool === 'string' ? tools.definitionOf(tool) : tool;
    return definition === undefined ? [] : [definition];
  });
  const { toolRuntimes: runtimes, client, toolPins: pins } = input;
  return resolveOffered(definitions, tools, {
    ...(runtimes === undefined ? {} : { runtimes }),
    ...(client === undefined ? {} : { client }),
    ...(pins === undefined ? {} : { pins }),
  });
}
