import type { ToolOptions } from '@nightshift/plugin';
import { z } from 'zod';

import type { JsonSchema, Tool, ToolContext, ToolSort } from './tool.js';
import { toolVersion } from './tool-version.js';
import { ToolArgumentsError } from './tools.errors.js';

/** The options of plugins' tools, and options that only tools of the server have. */
interface ToolSpec extends Omit<ToolOptions<ToolContext>, 'isolation'> {
  /** Disables the tool. The text is the reason, for jobs that were offered the tool before. */
  readonly withdrawn?: string;
  /** Default `server`; `client` for a tool without `execute`. */
  readonly sort?: ToolSort;
  /** As in plugins; `job`: each call runs as a sub-job. */
  readonly isolation?: Tool['isolation'];
  /** For tools of the server that read tables of jobs. Default false. */
  readonly workerOnly?: boolean;
  /** The workflow, for a tool that is a workflow. */
  readonly workflowId?: string;
  /** Default: the handler runs the call. `person`: the call is a question, and a person answers it. */
  readonly asks?: 'person';
}

/** A tool whose input is a zod object. The handler gets the parsed value, after defaults and transforms. */
export interface ZodToolSpec<Input extends z.ZodType> extends ToolSpec {
  readonly input: Input;
  execute?(args: z.output<Input>, context: ToolContext): unknown;
}

/** A tool whose input is a JSON Schema of an object. The handler gets the original arguments, which are valid for the schema. */
export interface JsonSchemaToolSpec extends ToolSpec {
  readonly input: JsonSchema;
  execute?(args: Readonly<Record<string, unknown>>, context: ToolContext): unknown;
}

/**
 * Defines a tool. `execute` returns text or a JSON value, or a promise of one, and throws to fail; only a tool with runtime `client` may omit
 * it. The registry validates the tool as a whole.
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

/** Options about approval before a call and verification after it. */
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

/** Whether `defineTool` made the value; used to find tools among the providers of Nest. */
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
    context.signal.throwIfAborted(); // parsing may take time; a call that was aborted meanwhile must not start
    return spec.execute?.(parsed.data, context);
  };
}

function jsonHandler(spec: JsonSchemaToolSpec): Tool['handler'] {
  return async (args, context) => await spec.execute?.(args, context);
}

function parametersOf(input: z.ZodType): JsonSchema {
  return withoutDialect(z.toJSONSchema(input, { io: 'input' }));
}

/** Removes `$schema` if it names 2020-12, the default dialect. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema, ...rest } = schema;
  return typeof $schema === 'string' && $schema.includes('draft-07') ? schema : rest;
}
