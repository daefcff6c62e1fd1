import { z } from 'zod';

import { isPluginNodeType, NODE_MEMBERS } from '#tools';

import { isJsonObject, type JsonObject, memberOf } from './json.js';
import { LIMITS } from './limits.js';
import { formatNodes } from './node-data.js';
import { baseFields, defaultAction, jsonObject, options, renamed, timerMs, waitMs } from './node-fields.js';
import { type Fault, type Read, readTolerantly } from './read-tolerantly.js';

/** Nodes that the format does not have: other engines do not know them. */

const timeoutText = 'How long the request waits for an answer, in ms. 0 or absent: 7 days';
const defaultText = 'The answer that is used after the timeout. Absent: the run follows the `timeout` edges';

/** A person approves or rejects; the input is passed on. */
const approval = z.object({
  ...baseFields,
  prompt: z.string().min(1).describe('What the person reads'),
  options: options.describe('Answers that the person can choose from. Absent: yes and no'),
  inputSchema: jsonObject
    .optional()
    .describe('A JSON Schema of the data that an answer may contain. That data replaces the input'),
  timeout: waitMs.optional().describe(timeoutText),
  defaultAction: defaultAction.optional().describe(defaultText),
  decidableBy: z
    .enum(['members', 'requester', 'approvers'])
    .optional()
    .describe('Who may answer. Default: the requester of the job (`requester`)'),
  fourEyes: z.boolean().optional().describe('Whether the requester must not answer'),
});

/** A person fills in a form; its JSON is the output. */
const input = z.object({
  ...baseFields,
  prompt: z.string().min(1).describe('What the person reads'),
  schema: jsonObject.describe('A JSON Schema that describes the form'),
  timeout: waitMs.optional().describe(timeoutText),
  defaultAction: defaultAction.optional().describe(defaultText),
});

/** Lets time pass, or waits for an event. */
const wait = z.object({
  ...baseFields,
  durationMs: waitMs.optional().describe('How long the node waits, in ms. Set this, `until` or `event`'),
  until: z.string().min(1).optional().describe('The time at which the wait ends (ISO 8601), or a template for it'),
  event: z
    .string()
    .min(1)
    .max(LIMITS.idLength)
    .optional()
    .describe('The name of the event that ends the wait, or a template for it'),
  timeout: waitMs.optional().describe('How long the node waits for the event, in ms. 0 or absent: 7 days'),
});

const http = z.object({
  ...baseFields,
  method: z
    .enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
    .default('GET')
    .describe('The method of the request'),
  url: z.string().min(1).describe('The URL, on a host that the workspace allows. A template'),
  headers: jsonObject.prefault({}).describe('Header values by name. The values are templates'),
  body: z
    .unknown()
    .optional()
    .describe('The body. A text is sent unchanged, any other value as JSON. Texts in it are templates'),
  timeout: timerMs.optional().describe('Timeout of one attempt, in ms. Default: 30,000'),
  select: z
    .string()
    .min(1)
    .optional()
    .describe('A JSONPath that selects the part of the response that becomes the output'),
});

const transform = z.object({
  ...baseFields,
  expression: z.string().min(1).describe('A CEL expression. Its value is the output'),
});

/** Its body is run once for each item of a list. */
const map = z.object({
  ...baseFields,
  items: z
    .string()
    .min(1)
    .optional()
    .describe('A CEL expression or a template that produces a list. Absent: the input must be a JSON list'),
  maxConcurrency: z
    .number()
    .int()
    .min(1)
    .max(LIMITS.mapItemsAtOnce)
    .default(5)
    .describe('Maximum number of items that run in parallel'),
  onItemError: z
    .enum(['stop', 'continue'])
    .default('stop')
    .describe('When an item fails: `stop` fails the node, `continue` puts an empty text for it in the output'),
});

const ownNodes = { approval, input, wait, http, transform, map } as const;

/** How the `data` of each built-in type is read. */
export const schemas = { ...formatNodes, ...ownNodes } as const;

/** The types that need no plugin. */
export type BuiltInType = keyof typeof schemas;

/** A node of any type that a plugin defines. */
const plugin = z.object(baseFields);
const readers = { ...schemas, plugin } as const;

/** Members that only nodes of plugins have. */
interface PluginData {
  /** What the plugin's schema describes: `data` without the members that every node has. */
  readonly given: JsonObject;
  /** Whether the document sets the retries of a failed attempt; otherwise the plugin sets them. */
  readonly hasRetry: boolean;
}

/** Every type of node that this engine runs; `plugin` stands for all types of plugins. */
export type NodeType = keyof typeof readers;
/** What a node of each type carries, defaults filled in. */
export type NodeData = {
  readonly [T in NodeType]: Readonly<z.output<(typeof readers)[T]>> & (T extends 'plugin' ? PluginData : unknown);
};

// Object.keys gives the names of a literal's own members, which are its type's.
export const nodeTypes = Object.keys(schemas) as readonly BuiltInType[];

const aliases: ReadonlyMap<string, NodeType> = new Map([
  ...nodeTypes.map((type) => [type, type] as const),
  ['condition', 'router'],
]);

/** The type with this name in documents; null: unknown. Does not check whether a plugin defines the type. */
export function nodeTypeOf(name: string): NodeType | null {
  return aliases.get(name) ?? (isPluginNodeType(name) ? 'plugin' : null);
}

/** Whether only Nightshift defines this type: no older document uses it, so no leniency is needed. */
export function isOwnType(type: NodeType): boolean {
  return type === 'plugin' || Object.hasOwn(ownNodes, type);
}

/**
 * Parses `data` by the schema of the type. A field with a wrong type counts as absent; `value` is null if a required field of a type that only
 * Nightshift defines is missing.
 */
export function readNodeData<T extends NodeType>(type: T, data: unknown): Read<NodeData[T]> {
  const named = type === 'tool' ? renamed(data, 'arguments', 'config') : renamed(data, 'topK', 'limit');
  const { value, faults } = readTolerantly(readers[type], type === 'plugin' ? commonOf(data) : named);
  const whole = value === null || type !== 'plugin' ? value : { ...value, ...pluginDataOf(data) };
  // The compiler does not follow that the schema of T reads the data of T.
  return { value: whole as NodeData[T] | null, faults: [...faults, ...labelFaults(data)] };
}

const inCommon: ReadonlySet<string> = new Set(NODE_MEMBERS);

function commonOf(data: unknown): unknown {
  return isJsonObject(data) ? Object.fromEntries(Object.entries(data).filter(([name]) => inCommon.has(name))) : data;
}

function pluginDataOf(data: unknown): PluginData {
  const given = isJsonObject(data) ? Object.entries(data).filter(([name]) => !inCommon.has(name)) : [];
  return {
    given: Object.fromEntries(given),
    hasRetry: memberOf(memberOf(data, 'errorHandling'), 'retry') !== undefined,
  };
}

function labelFaults(data: unknown): readonly Fault[] {
  if (isJsonObject(data) && Object.hasOwn(data, 'label')) return [];
  return [{ path: ['label'], message: 'is missing; it must be a text' }];
}
