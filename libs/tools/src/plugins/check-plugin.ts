import type { HookDefinition, HookEvent, InputSchema, NodeDefinition, PluginSpec } from '@nightshift/plugin';
import { z } from 'zod';

import { compileSchema } from '../compile-schema.js';
import type { JsonSchema } from '../tool.js';

const PLUGIN_NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/i;
const NODE_TYPE = /^[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+$/;
const MOST_ATTEMPTS = 10;

const hookEvents: Readonly<Record<HookEvent, true>> = {
  ...{ beforeJobStart: true, beforeModelCall: true, afterModelCall: true, beforeToolCall: true, afterToolCall: true },
  ...{ beforeNode: true, afterNode: true, onInterrupt: true, onJobFinished: true, onNotification: true },
};

/** What is wrong with a plugin, its hooks and nodes, as a sentence without a full stop; null: nothing. Its tools are checked where they are registered. */
export function problemOfPlugin({ name, version, hooks = [], nodes = [] }: PluginSpec): string | null {
  if (!PLUGIN_NAME.test(name)) return 'its name must consist of letters, digits, ".", "_" and "-"';
  if (typeof version !== 'string' || version === '') return 'it has no version: set version to a text such as 1.0.0';
  for (const hook of hooks) {
    const problem = problemOfHook(hook);
    if (problem !== null) return `hook "${hook.name}": ${problem}`;
  }
  for (const node of nodes) {
    const problem = problemOfNode(node);
    if (problem !== null) return `node "${node.type}": ${problem}`;
  }
  return null;
}

function problemOfHook(hook: HookDefinition): string | null {
  const { on, name, priority = 0, timeoutMs = 1, failure = 'open' } = hook;
  if (typeof name !== 'string' || name.trim() === '') return 'it has no name';
  if (!Object.hasOwn(hookEvents, on)) return `on must be one of ${Object.keys(hookEvents).join(', ')}`;
  if (!Number.isFinite(priority)) return 'priority must be a number';
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1)
    return 'timeoutMs must be a whole number of milliseconds, 1 or more';
  if (!['open', 'closed'].includes(failure)) return 'failure must be open or closed';
  return typeof hook.run === 'function' ? null : 'it has no function run';
}

function problemOfNode(node: NodeDefinition): string | null {
  const { type, title, input, output, retry } = node;
  if (!NODE_TYPE.test(type)) return 'its type must have a namespace with a dot, as in acme.score';
  if (typeof title !== 'string' || title.trim() === '') return 'it has no title';
  if (typeof node.run !== 'function') return 'it has no function run';
  const attempts = retry?.attempts ?? 1;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
    return `retry.attempts must be 1 to ${MOST_ATTEMPTS}`;
  return problemOfSchema('input', input) ?? (output === undefined ? null : problemOfSchema('output', output));
}

function problemOfSchema(place: string, schema: InputSchema): string | null {
  try {
    compileSchema(toJsonSchema(schema));
    return null;
  } catch (error) {
    return `${place}: ${error instanceof Error ? error.message.replace(/\.$/, '') : 'it is no schema'}`;
  }
}

/** The JSON Schema of what a tool or node takes. Throws for a schema that is neither that nor one of zod 4. */
export function toJsonSchema(schema: InputSchema): JsonSchema {
  if (schema instanceof z.ZodType) return z.toJSONSchema(schema, { io: 'input' });
  if (typeof schema !== 'object' || '~standard' in schema)
    throw new Error('it must be a schema of zod 4 or a JSON Schema');
  return schema;
}
