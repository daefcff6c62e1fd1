import { defined } from '#platform';
import { type OfferedTool, resolveOffered, type WorkspaceTools } from '#tools';

import type { ChatInput } from './input/chat-input.js';

/** The tools that a request offers to the model, with the tools of its agent applied. */
export function toolsOffered(input: ChatInput, tools: WorkspaceTools): readonly OfferedTool[] {
  const definitions = input.tools.flatMap((tool) => {
    const definition = typeof tool === 'string' ? tools.definitionOf(tool) : tool;
    return definition === undefined ? [] : [definition];
  });
  const { toolRuntimes: runtimes, client, toolPins: pins } = input;
  return resolveOffered(definitions, tools, {
    ...defined({ runtimes, client, pins }),
  });
}
