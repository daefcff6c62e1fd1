import type { ClientToolInput } from './generated/graphql.js';

/** What a tool learns about its call. */
export interface ToolContext {
  readonly jobId: string;
  /** As the model names the call. */
  readonly callId: string;
  readonly name: string;
  /** Aborts when nobody waits for the result any more: the job was stopped, or we stop serving. */
  readonly signal: AbortSignal;
}

/**
 * Runs a tool. A text goes to the model as it is, anything else as JSON; what it throws, the model reads as the error. The
 * arguments fit the schema that the tool was declared with.
 */
export type ToolHandler = {
  // A method, so that a handler may name the type of its arguments.
  run(args: Record<string, unknown>, context: ToolContext): unknown;
}['run'];

/** A tool that is run here: how the model sees it, and the function. */
export interface ClientTool extends Omit<ClientToolInput, 'name'> {
  readonly run: ToolHandler;
}

/** Tools by name. A function alone is a tool without a description that takes no arguments. */
export type ClientTools = Readonly<Record<string, ClientTool | ToolHandler>>;

/** As a start declares them. */
export function toDeclarations(tools: ClientTools): ClientToolInput[] {
  return Object.entries(tools).map(([name, tool]) => {
    if (typeof tool === 'function') return { name };
    const { description, parameters, timeoutMs, onTimeout, effect } = tool;
    return { name, description, parameters, timeoutMs, onTimeout, effect };
  });
}

export function handlerOf(tools: ClientTools, name: string): ToolHandler | undefined {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return typeof tool === 'object' ? tool.run : tool;
}
