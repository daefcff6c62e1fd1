import { defineNode } from './define-node.js';
import { handOn } from './settlements.js';

/** Passes on the user's text. */
export const startNode = defineNode({ type: 'start', isPure: () => true, run: ({ input }) => handOn(input) });
