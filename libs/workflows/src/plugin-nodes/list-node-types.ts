import { z } from 'zod';

import { isJsonObject, type JsonObject, memberOf } from '../definition/json.js';
import { baseFields } from '../definition/node-fields.js';
import { type BuiltInType, nodeTypes, schemas } from '../definition/node-types.js';
import { OUTPUT_HANDLES } from '../definition/validation/check-edges.js';
import type { PluginNode } from './plugin-nodes.js';

/** A node type, for editors. */
export interface ListedNodeType {
  readonly type: string;
  readonly title: string;
  readonly description: string | null;
  /** A name of an icon, or a data URL; null: the editor chooses one. */
  readonly icon: string | null;
  /** The plugin that defines it; null: it is built in. */
  readonly plugin: string | null;
  /** JSON Schema of the members of `data` that only this type has. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of a value that the node returns; null: any. */
  readonly outputSchema: JsonObject | null;
  /** Output handles, without those that depend on the node's data. */
  readonly outputHandles: readonly string[];
}

const builtIn: Readonly<Record<BuiltInType, readonly [title: string, description: string]>> = {
  start: ['Start', 'Passes on the prompt of the run.'],
  agent: ['Agent', 'Asks a model, which may call tools.'],
  router: ['Router', 'Has a model choose the edge that the run follows.'],
  parallel: ['Parallel', 'Asks several models at once and merges their texts.'],
  whileLoop: ['Loop', 'Repeats its body while a condition holds, or a fixed number of times.'],
  subflow: ['Subflow', 'Runs another workflow.'],
  output: ['Output', 'Puts the final text together.'],
  tool: ['Tool', 'Calls one tool with arguments of the workflow.'],
  memory: ['Memory', 'Stores a text, or finds stored ones.'],
  schemaValidation: ['Schema validation', 'Checks the input against a JSON Schema.'],
  approval: ['Approval', 'Asks a person to approve or reject the input.'],
  input: ['Form', 'Asks a person to fill in a form.'],
  wait: ['Wait', 'Waits for a time or an event.'],
  http: ['HTTP request', 'Sends an HTTP request and passes on the response.'],
  transform: ['Transform', 'Computes a value with an expression.'],
  map: ['Map', 'Runs its body once for each item of a list.'],
};

const commonNames: ReadonlySet<string> = new Set(Object.keys(baseFields));
const listedBuiltIn: readonly ListedNodeType[] = nodeTypes.map((type) => {
  const [title, description] = builtIn[type];
  return {
    ...{ type, title, description, icon: null, plugin: null, outputSchema: null },
    inputSchema: ownSchema(schemas[type].shape, commonNames),
    outputHandles: handlesOf(type),
  };
});

/** JSON Schema of the members of `data` that every node has. */
export const commonNodeSchema: JsonObject = ownSchema(baseFields, new Set());

/** The built-in types, then those of plugins in the order in which they were loaded. */
export function listNodeTypes(plugins: readonly PluginNode[]): readonly ListedNodeType[] {
  return [...listedBuiltIn, ...plugins.map(listed)];
}

function listed({ definition, plugin, input, output }: PluginNode): ListedNodeType {
  const { type, title, description = null, icon = null } = definition;
  return {
    ...{ type, title, description, icon, plugin: plugin.name, inputSchema: input, outputSchema: output },
    outputHandles: handlesOf('plugin'),
  };
}

function handlesOf(type: keyof typeof OUTPUT_HANDLES): readonly string[] {
  return type === 'output' ? [] : [...OUTPUT_HANDLES[type], 'error'];
}

/**
 * The validation requires some fields that the parser treats as absent when they are wrong. The descriptions of these fields say that they are
 * required.
 */
function ownSchema(fields: z.ZodRawShape, without: ReadonlySet<string>): JsonObject {
  const own = Object.fromEntries(Object.entries(fields).filter(([name]) => !without.has(name)));
  const {
    properties = {},
    required = [],
    ...schema
  } = z.toJSONSchema(z.object(own), {
    io: 'input',
    unrepresentable: 'any',
  });
  const named = Object.entries(properties).filter(([, field]) => memberOf(field, 'isRequired') === true);
  const all = [...new Set([...required, ...named.map(([name]) => name)])];
  const shown = Object.entries(properties).map(([name, field]) => [name, withoutMark(field)] as const);
  return { ...schema, properties: Object.fromEntries(shown), ...(all.length === 0 ? {} : { required: all }) };
}

function withoutMark(field: unknown): unknown {
  if (!isJsonObject(field)) return field;
  return Object.fromEntries(Object.entries(field).filter(([name]) => name !== 'isRequired'));
}
