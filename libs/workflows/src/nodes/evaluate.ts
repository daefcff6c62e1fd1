import { compileExpression } from '#tools';

import { textOrJson } from './json-text.js';
import type { NodeContext } from './node-executor.js';
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
    // All of a run's outputs are many, and most expressions name none of them.
    outputs: expression.includes('outputs') ? Object.fromEntries(view.outputs) : {},
    inputs: Object.fromEntries(view.inputs),
  });
  if (!answer.ok) throw refusal(`The expression ${answer.problem}`);
  return answer.value;
}
