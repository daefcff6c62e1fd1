import type { z } from 'zod';

import { isJsonObject } from './json.js';
import { formatNodes } from './node-data.js';
import { renamed } from './node-fields.js';
import { ownNodes } from './own-node-data.js';
import { type Fault, type Read, readTolerantly } from './read-tolerantly.js';

/** How the `data` of each type is read. */
export const schemas = { ...formatNodes, ...ownNodes } as const;

/** Every type of node that this engine runs. */
export type NodeType = keyof typeof schemas;
/** What a node of each type carries, defaults filled in. */
export type NodeData = { readonly [T in NodeType]: Readonly<z.output<(typeof schemas)[T]>> };

// Object.keys gives the names of a literal's own members, which are its type's.
export const nodeTypes = Object.keys(schemas) as readonly NodeType[];

const aliases: ReadonlyMap<string, NodeType> = new Map([
  ...nodeTypes.map((type) => [type, type] as const),
  ['condition', 'router'],
]);

/** The type that a document calls by this name; null: unknown to us. */
export function nodeTypeOf(name: string): NodeType | null {
  return aliases.get(name) ?? null;
}

/** Whether only Nightshift defines this type: no older document uses it, so no leniency is needed. */
export function isOwnType(type: NodeType): boolean {
  return Object.hasOwn(ownNodes, type);
}

/** The data of a node as its type has it. A fault is read as absent; `value` is null when a required field of ours is missing. */
export function readNodeData<T extends NodeType>(type: T, data: unknown): Read<NodeData[T]> {
  const named = type === 'tool' ? renamed(data, 'arguments', 'config') : renamed(data, 'topK', 'limit');
  const { value, faults } = readTolerantly(schemas[type], named);
  // The compiler does not follow that the schema of T reads the data of T.
  return { value: value as NodeData[T] | null, faults: [...faults, ...labelFaults(data)] };
}

function labelFaults(data: unknown): readonly Fault[] {
  if (isJsonObject(data) && Object.hasOwn(data, 'label')) return [];
  return [{ path: ['label'], message: 'is missing; it must be a text' }];
}
