import type { ToolOptions } from '@nightshift/plugin';
import { z } from 'zod';

import type { JsonSchema, Tool, ToolContext, ToolSort } from './tool.js';
import { toolVersion } from './tool-version.js';
import { ToolArgumentsError } from './tools.errors.js';

/** The options of plugins' tools, and those that only tools of this server have. */
interface ToolSpec extends Omit<ToolOptions<ToolContext>, 'isolation'> {
  /** Disables the tool and gives the reason, for a job that was offered it before. */
  readonly withdrawn?: string;
  /** Default `server`, or `client` for a tool without `execute`. */
  readonly sort?: ToolSort;
  /** As in plugins; `job` for a call that is a job of its own. */
  readonly isolation?: Tool['isolation'];
  /** For tools of this server that read tables of jobs. Default false. */
  readonly workerOnly?: boolean;
  /** Of a tool that is a workflow. */
  readonly workflowId?: string;
  /** Default: the handler runs the call. `person`: a call is a question that a person answers. */
  readonly asks?: 'person';
}

/** A tool whose input is a zod object: the handler gets the parsed value, defaults and transforms applied. */
export interface ZodToolSpec<Input extends z.ZodType> extends ToolSpec {
  readonly input: Input;
  execute?(args: z.output<Input>, context: ToolContext): unknown;
}

/** A tool whose input is a JSON Schema of an object; the handler gets the arguments as they came, valid by it. */
export interface JsonSchemaToolSpec extends ToolSpec {
  readonly input: JsonSchema;
  execute?(args: Readonly<Record<string, unknown>>, context: ToolContext): unknown;
}

/**
 * Makes a tool. `execute` gives text or a JSON value, directly or as a promise, and throws to fail; only a tool with runtime
 * `client` may leave it out. Whether the tool as a whole makes sense is checked when it is registered.
 */
export function defineTool<Input extends z.ZodType>(spec: ZodToolSpec<Input>): Tool;
export function defineTool(spec: JsonSchemaToolSpec): Tool;
export function defineTool(spec: ZodToolSpec<z.ZodType> | JsonSchemaToolSpec): Tool {
  const parameters = isZod(spec) ? parametersOf(spec.input) : withoutDialect(spec.input);
  const tool: Tool = Object.freeze({
    name: spec.name,
    description: spec.description,
    parameters,
    runtime: spec.runtime ?? 'hybrid',
    effect: spec.effect ?? 'once',
    timeoutMs: spec.timeoutMs ?? null,
    enabled: spec.withdrawn === undefined && (spec.enabled ?? true),
    flag: spec.flag ?? null,
    withdrawn: spec.withdrawn ?? null,
    repeatable: spec.repeatable ?? false,
    ...conditionsOf(spec),
    version: spec.version ?? toolVersion({ name: spec.name, description: spec.description, parameters }),
    handler: spec.execute === undefined ? null : isZod(spec) ? zodHandler(spec) : jsonHandler(spec),
  });
  defined.add(tool);
  return tool;
}

/** Who is asked before a call, and what is known after one. */
function conditionsOf(spec: ZodToolSpec<z.ZodType> | JsonSchemaToolSpec) {
  const verify = spec.verify?.bind(spec) ?? null;
  return {
    sort: spec.sort ?? (spec.execute === undefined ? 'client' : 'server'),
    isolation: spec.isolation ?? 'worker',
    workerOnly: spec.workerOnly ?? false,
    concurrency: spec.concurrency ?? null,
    workflowId: spec.workflowId ?? null,
    approval: spec.approval ?? null,
    allowEdit: spec.allowEdit ?? true,
    sensitiveFields: spec.sensitiveFields ?? [],
    grantKey: spec.grantKey ?? null,
    asks: spec.asks ?? null,
    onUnknown: spec.onUnknown ?? (verify === null ? 'ask' : 'verify'),
    verify,
  } as const;
}

const defined = new WeakSet<object>();

/** Whether a value was made by `defineTool`; how tools among Nest's providers are recognised. */
export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && defined.has(value);
}

function isZod(spec: ZodToolSpec<z.ZodType> | JsonSchemaToolSpec): spec is ZodToolSpec<z.ZodType> {
  return spec.input instanceof z.ZodType;
}

function zodHandler(spec: ZodToolSpec<z.ZodType>): Tool['handler'] {
  return async (args, context) => {
    const parsed = await spec.input.safeParseAsync(args);
    if (!parsed.success) throw new ToolArgumentsError(`invalid arguments: ${z.prettifyError(parsed.error)}`);
    context.signal.throwIfAborted(); // parsing may take its time; what was stopped meanwhile must not start
    return spec.execute?.(parsed.data, context);
  };
}

function jsonHandler(spec: JsonSchemaToolSpec): Tool['handler'] {
  return async (args, context) => await spec.execute?.(args, context);
}

function parametersOf(input: z.ZodType): JsonSchema {
  return withoutDialect(z.toJSONSchema(input, { io: 'input' }));
}

/** The default is 2020-12; only another dialect stays named. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema, ...rest } = schema;
  return typeof $schema === 'string' && $schema.includes('draft-07') ? schema : rest;
}
