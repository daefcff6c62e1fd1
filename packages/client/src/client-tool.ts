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

/**
 * A tool that is defined once for both sides, by `defineTool` of `@nightshift/plugin`: the server runs `server`, this client runs `client`.
 * The arguments are parsed by `input`, so defaults are set.
 */
export interface SharedTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema, or a Standard Schema that writes one, such as of zod 4. */
  readonly input: object;
  readonly effect?: 'pure' | 'idempotent' | 'once';
  // A method that takes `never`, so that a handler may name the type of its arguments.
  client?(args: never, context: ToolContext): unknown;
}

type ToolsByName = Readonly<Record<string, ClientTool | ToolHandler>>;

/** Tools by name, or definitions that have a handler `client`. A function alone is a tool without a description that takes no arguments. */
export type ClientTools = ToolsByName | readonly SharedTool[];

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

/** As a start declares them. Throws for a definition without a handler `client`. */
export function toDeclarations(tools: ClientTools): ClientToolInput[] {
  const served = byName(tools);
  const missing = isList(tools) && tools.find(({ name }) => !Object.hasOwn(served, name));
  if (missing) throw new TypeError(`The tool "${missing.name}" has no handler "client": name it in serverTools`);
  return Object.entries(served).map(([name, tool]) => {
    if (typeof tool === 'function') return { name };
    const { description, parameters, timeoutMs, onTimeout, effect } = tool;
    return { name, description, parameters: toJsonSchema(parameters), timeoutMs, onTimeout, effect };
  });
}

export function handlerOf(tools: ClientTools, name: string): ToolHandler | undefined {
  const served = byName(tools);
  const tool = Object.hasOwn(served, name) ? served[name] : undefined;
  return typeof tool === 'object' ? tool.run : tool;
}

function byName(tools: ClientTools): ToolsByName {
  if (!isList(tools)) return tools;
  return Object.fromEntries(
    tools.flatMap((tool) => (tool.client === undefined ? [] : [[tool.name, toClientTool(tool)] as const])),
  );
}

/** `Array.isArray` does not tell a readonly list from an object. */
function isList(tools: ClientTools): tools is readonly SharedTool[] {
  return Array.isArray(tools);
}

const effects = { pure: 'PURE', idempotent: 'IDEMPOTENT', once: 'ONCE' } as const;

function toClientTool(tool: SharedTool): ClientTool {
  const { description, input, effect = 'once' } = tool;
  return {
    description,
    parameters: input as ToolSchema, // `defineTool` takes no others
    effect: effects[effect],
    run: async (args, context) => tool.client?.((await parse(input, args)) as never, context), // of the type that its schema describes
  };
}

/** What a Standard Schema makes of arguments that fit it (standardschema.dev). */
interface Validating {
  readonly '~standard': { validate(value: unknown): Validation | Promise<Validation> };
}

type Validation =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

async function parse(input: object, args: unknown): Promise<unknown> {
  if (!('~standard' in input)) return args;
  const parsed = await (input as Validating)['~standard'].validate(args); // by its standard
  if (parsed.issues === undefined) return parsed.value;
  throw new Error(parsed.issues.map(({ message }) => message).join('; '));
}
