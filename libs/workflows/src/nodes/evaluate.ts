import { compileExpression } from '#tools';

import type { NodeContext } from '../engine/node-executor.js';
import { textOrJson } from './json-text.js';
import { lazyMembers } from './lazy-members.js';
import { refusal } from './to-node-error.js';

/**
 * The value of an expression that sees `input` (a value, where the text is JSON), `text`, `outputs` and `inputs`. Throws for one
 * that cannot be used, fails, takes too long, or gives too much.
 */
export function evaluate(expression: string, { input, view }: Pick<NodeContext, 'input' | 'view'>): unknown {
  const compiled = compileExpression(expression);
  if (!compiled.ok) throw refusal(`Invalid expression: it ${compiled.problem}`);
  const answer = compiled.evaluate({
    input: textOrJson(input),
    text: input,
    outputs: lazyMembers(view.outputs), // all of a run's are many, and most expressions name few of them
    inputs: lazyMembers(view.inputs),
  });
  if (!answer.ok) throw refusal(`The expression ${answer.problem}`);
  return answer.value;
}
