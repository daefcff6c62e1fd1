import { defineNode } from './define-node.js';
import { handOn } from './settlements.js';

/** Hands on what the user said. */
export const startNode = defineNode({ type: 'start', isPure: () => true, run: ({ input }) => handOn(input) });
