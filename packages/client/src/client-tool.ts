import type { ClientToolInput } from './generated/graphql.js';
import { type ArgumentsOf, toJsonSchema, type ToolSchema } from './tool-schema.js';

/** The call that a tool runs for. */
export interface ToolContext {
  readonly jobId: string;
  /** The id that the model gave the call. */
  readonly callId: string;
  readonly name: string;
  /** Aborts when the result is no longer needed: the job is cancelled, or this client stops serving. */
  readonly signal: AbortSignal;
}

/**
 * Runs a tool. The model reads a returned text unchanged, any other value as JSON, and the message of a thrown error. The arguments match
 * the schema that the tool was declared with.
 */
export type ToolHandler<Arguments = Record<string, unknown>> = {
  // A method, so that a handler may declare its own type of arguments.
  run(args: Arguments, context: ToolContext): unknown;
}['run'];

/** A tool that this client runs: its description for the model, and its function. */
export interface ClientTool<Arguments = Record<string, unknown>> extends Omit<ClientToolInput, 'name' | 'parameters'> {
  /** A JSON Schema, or a Standard Schema that can convert itself to JSON Schema, such as one of zod 4. */
  readonly parameters?: ToolSchema | undefined;
  readonly run: ToolHandler<Arguments>;
}

/**
 * A tool that `defineTool` of `@nightshift/plugin` defines once for both sides: the server runs `server`, this client runs `client`.
 * `input` parses the arguments, so defaults are set.
 */
export interface SharedTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema, or a Standard Schema that can convert itself to JSON Schema, such as one of zod 4. */
  readonly input: object;
  readonly effect?: 'pure' | 'idempotent' | 'once';
  // A method that takes `never`, so that a handler may declare its own type of arguments.
  client?(args: never, context: ToolContext): unknown;
}

type ToolsByName = Readonly<Record<string, ClientTool | ToolHandler>>;

/** Tools by name, or definitions with a handler `client`. A function alone is a tool without description and arguments. */
export type ClientTools = ToolsByName | readonly SharedTool[];

/**
 * Types the arguments of a handler by its schema, which is a literal JSON Schema or a zod schema. Returns the tool unchanged; it exists
 * only for the types.
 */
export function clientTool<const Schema extends ToolSchema>(
  tool: Omit<ClientTool, 'parameters' | 'run'> & {
    readonly parameters: Schema;
    readonly run: ToolHandler<ArgumentsOf<Schema>>;
  },
): ClientTool {
  // The server checks the arguments by this schema before it offers the call to a client.
  return tool as unknown as ClientTool;
}

/** The tools in the format of a start. Throws for a definition without a handler `client`. */
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

/** `Array.isArray` does not distinguish a readonly array from an object. */
function isList(tools: ClientTools): tools is readonly SharedTool[] {
  return Array.isArray(tools);
}

const effects = { pure: 'PURE', idempotent: 'IDEMPOTENT', once: 'ONCE' } as const;

function toClientTool(tool: SharedTool): ClientTool {
  const { description, input, effect = 'once' } = tool;
  return {
    description,
    parameters: input as ToolSchema, // `defineTool` accepts no other type
    effect: effects[effect],
    run: async (args, context) => tool.client?.((await parse(input, args)) as never, context), // the type that its schema describes
  };
}

/** The part of a Standard Schema that validates arguments (standardschema.dev). */
interface Validating {
  readonly '~standard': { validate(value: unknown): Validation | Promise<Validation> };
}

type Validation =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

async function parse(input: object, args: unknown): Promise<unknown> {
  if (!('~standard' in input)) return args;
  const parsed = await (input as Validating)['~standard'].validate(args); // the standard requires this method
  if (parsed.issues === undefined) return parsed.value;
  throw new Error(parsed.issues.map(({ message }) => message).join('; '));
}
