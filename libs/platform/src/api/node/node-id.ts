import { isId } from '../../ids.js';

/** The types that `node` can return. */
export const nodeTypes = ['Job', 'Thread', 'Message', 'ToolCall', 'Interrupt'] as const;
export type NodeType = (typeof nodeTypes)[number];

/** The decoded content of a node id. */
export interface NodeRef {
  readonly type: NodeType;
  readonly id: string;
}

/** An opaque id that contains its type, for `node(id)`. */
export function toNodeId(type: NodeType, id: string): string {
  return Buffer.from(`${type}:${id}`).toString('base64url');
}

/** Returns null for a text that is not a node id. */
export function parseNodeId(text: string): NodeRef | null {
  const [name, id = ''] = (text.length > 100 ? '' : Buffer.from(text, 'base64url').toString('utf8')).split(':');
  const type = nodeTypes.find((known) => known === name);
  return type !== undefined && isId(id) && toNodeId(type, id) === text ? { type, id } : null;
}
