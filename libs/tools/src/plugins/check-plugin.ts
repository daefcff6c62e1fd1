import type { HookDefinition, InputSchema, NodeDefinition, PluginSpec } from '@nightshift/plugin';
import { z } from 'zod';

import { compileSchema } from '../compile-schema.js';
import { compileMatch, hookEvents, isHookEvent } from '../hooks/hook-match.js';
import type { JsonSchema } from '../tool.js';

const PLUGIN_NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/i;
const NODE_TYPE = /^[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+$/;
const NODE_TYPE_LENGTH = 200;
const MAX_ATTEMPTS = 10;
const EFFECTS: ReadonlySet<string> = new Set(['pure', 'idempotent', 'once']);
const MAX_ICON_LENGTH = 65_536;

/** Fields of `data` that nodes of every type have. The input of a plugin's node must not use these names. */
export const NODE_MEMBERS = [
  ...['label', 'description', 'errorHandling', 'timeoutMs', 'hitl', 'permissions', 'status'],
] as const;

/** Whether a type of node has a namespace, as in plugins. Built-in types have none. */
export function isPluginNodeType(name: string): boolean {
  return name.length <= NODE_TYPE_LENGTH && NODE_TYPE.test(name);
}

const HOOK_NAME = /^\P{Cc}{1,200}$/u;

/** Maximum timeout of a hook, in ms. A hook delays its job. */
const MAX_HOOK_MS = 60_000;

/**
 * The first fault of a plugin, its hooks and nodes, as a sentence without a full stop; null: none. Tools are validated when they are
 * registered.
 */
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
  if (!HOOK_NAME.test(name)) return 'its name must have at most 200 characters, and no control characters';
  if (!isHookEvent(on)) return `on must be one of ${hookEvents.join(', ')}`;
  if (!Number.isFinite(priority)) return 'priority must be a number';
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_HOOK_MS)
    return `timeoutMs must be a whole number of milliseconds, 1 to ${MAX_HOOK_MS}`;
  if (!['open', 'closed'].includes(failure)) return 'failure must be open or closed';
  if (typeof hook.run !== 'function') return 'it has no function run';
  const match = compileMatch(on, hook.match);
  return match.ok ? null : match.problem;
}

function problemOfNode(node: NodeDefinition): string | null {
  const { type, title, icon = '', input, output, retry, timeoutMs = 1, effect = 'once' } = node;
  if (typeof type !== 'string' || !isPluginNodeType(type))
    return 'its type must have a namespace with a dot, as in acme.score';
  if (typeof title !== 'string' || title.trim() === '') return 'it has no title';
  if (typeof node.run !== 'function') return 'it has no function run';
  const attempts = retry?.attempts ?? 1;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MAX_ATTEMPTS)
    return `retry.attempts must be 1 to ${MAX_ATTEMPTS}`;
  const delayMs = retry?.delayMs ?? 0;
  if (!Number.isInteger(delayMs) || delayMs < 0)
    return 'retry.delayMs must be a whole number of milliseconds, 0 or more';
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1)
    return 'timeoutMs must be a whole number of milliseconds, 1 or more';
  if (!EFFECTS.has(effect)) return `effect must be one of ${[...EFFECTS].join(', ')}`;
  if (typeof icon !== 'string' || icon.length > MAX_ICON_LENGTH)
    return `icon must be a text of at most ${MAX_ICON_LENGTH} characters`;
  return (
    problemOfSchema('input', input) ??
    problemOfMembers(input) ??
    (output === undefined ? null : problemOfSchema('output', output))
  );
}

/** The input fields of a node share one object with the fields that every node has. */
function problemOfMembers(input: InputSchema): string | null {
  const { type, properties = {} } = toJsonSchema(input);
  if (type !== 'object') return 'input: the schema must describe an object';
  const taken = NODE_MEMBERS.find((name) => Object.hasOwn(properties as object, name)); // the schema compiles
  return taken === undefined ? null : `input: the schema must not have the property "${taken}", which every node has`;
}

function problemOfSchema(place: string, schema: InputSchema): string | null {
  try {
    compileSchema(toJsonSchema(schema));
    return null;
  } catch (error) {
    return `${place}: ${error instanceof Error ? error.message.replace(/\.$/, '') : 'it is not a schema'}`;
  }
}

/** The JSON Schema of the input of a tool or node. Throws if the value is neither a JSON Schema nor a schema of zod 4. */
export function toJsonSchema(schema: InputSchema): JsonSchema {
  if (schema instanceof z.ZodType) return z.toJSONSchema(schema, { io: 'input' });
  if (typeof schema !== 'object' || '~standard' in schema)
    throw new Error('it must be a schema of zod 4 or a JSON Schema');
  return schema;
}
