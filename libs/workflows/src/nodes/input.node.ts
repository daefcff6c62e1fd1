import { askAtNode } from './ask-at-node.js';
import { defineNode } from './define-node.js';

/** A person fills in a form; the values are passed on. */
export const inputNode = defineNode({
  type: 'input',
  run: (context) => askAtNode(context, { mode: 'input', inputSchema: context.node.data.schema, dataRequired: true }),
});
