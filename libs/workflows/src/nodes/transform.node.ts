import { defineNode } from './define-node.js';
import { evaluate } from './evaluate.js';
import { jsonText } from './json-text.js';
import { handOn } from './settlements.js';

/** Computes its output from the input by an expression. */
export const transformNode = defineNode({
  type: 'transform',
  isPure: () => true,
  run: (context) => handOn(jsonText(evaluate(context.node.data.expression, context))),
});
