import type { ClientToolInput } from './generated/graphql.js';
import { type ArgumentsOf, toJsonSchema, type ToolSchema } from './tool-schema.js';

/** What a tool learns about its call. */
export interface ToolContext {
  readonly jobId: string;
  /** As the model names the call. */
  readonly callId: string;
  readonly name: string;
  /** Aborts when the result is no longer needed: the job was cancelled, or this client stops serving. */
  readonly signal: AbortSignal;
}

/**
 * Runs a tool. A text goes to the model as it is, anything else as JSON; what it throws, the model reads as the error. The
 * arguments fit the schema that the tool was declared with.
 */
export type ToolHandler<Arguments = Record<string, unknown>> = {
  // A method, so that a handler may name the type of its arguments.
  run(args: Arguments, context: ToolContext): unknown;
}['run'];

/** A tool that is run here: how the model sees it, and the function. */
export interface ClientTool<Arguments = Record<string, unknown>> extends Omit<ClientToolInput, 'name' | 'parameters'> {
  /** A JSON Schema, or a Standard Schema that writes one, such as of zod 4. */
  readonly parameters?: ToolSchema | undefined;
  readonly run: ToolHandler<Arguments>;
}

/** Tools by name. A function alone is a tool without a description that takes no arguments. */
export type ClientTools = Readonly<Record<string, ClientTool | ToolHandler>>;

/**
 * A tool whose handler takes the arguments that its schema describes: of a JSON Schema as it stands here, or of zod. It gives the tool
 * back, and exists for the types.
 */
export function clientTool<const Schema extends ToolSchema>(
  tool: Omit<ClientTool, 'parameters' | 'run'> & {
    readonly parameters: Schema;
    readonly run: ToolHandler<ArgumentsOf<Schema>>;
  },
): ClientTool {
  // The server has checked the arguments by this schema before a client is offered the call.
  return tool as unknown as ClientTool;
}

/** As a start declares them. */
export function toDeclarations(tools: ClientTools): ClientToolInput[] {
  return Object.entries(tools).map(([name, tool]) => {
    if (typeof tool === 'function') return { name };
    const { description, parameters, timeoutMs, onTimeout, effect } = tool;
    return { name, description, parameters: toJsonSchema(parameters), timeoutMs, onTimeout, effect };
  });
}

export function handlerOf(tools: ClientTools, name: string): ToolHandler | undefined {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return typeof tool === 'object' ? tool.run : tool;
}
