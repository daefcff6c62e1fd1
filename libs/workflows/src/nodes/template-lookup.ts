import { type Lookup, lookupIn } from '../definition/template.js';
import type { NodeContext } from '../engine/node-executor.js';

/** What the placeholders of a node's texts stand for. */
export function lookupOf({ input, view }: Pick<NodeContext, 'input' | 'view'>): Lookup {
  const { outputs, inputs, sessionId } = view;
  return lookupIn({ input, outputs, inputs, sessionId });
}
