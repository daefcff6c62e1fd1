import { type Lookup, lookupIn } from '../definition/template.js';
import type { NodeContext } from '../engine/node-executor.js';

/** Resolves the placeholders in a node's texts. */
export function lookupOf({ input, view }: Pick<NodeContext, 'input' | 'view'>): Lookup {
  const { outputs, inputs, sessionId } = view;
  return lookupIn({ input, outputs, inputs, sessionId });
}
