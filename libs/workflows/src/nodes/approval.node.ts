import { defined } from '#platform';

import { askAtNode } from './ask-at-node.js';
import { defineNode } from './define-node.js';
import { toOptions, YES_OR_NO } from './question-options.js';

/** A person approves or rejects the input, and may replace it; the input is passed on. */
export const approvalNode = defineNode({
  type: 'approval',
  run: (context) => {
    const { options, inputSchema, decidableBy, fourEyes } = context.node.data;
    return askAtNode(context, {
      mode: 'approval',
      options: options === undefined ? YES_OR_NO : toOptions(options),
      ...defined({ inputSchema, decidableBy, fourEyes }),
    });
  },
});
