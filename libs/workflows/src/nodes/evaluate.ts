import { compileExpression } from '#tools';

import type { NodeContext } from '../engine/node-executor.js';
import { textOrJson } from './json-text.js';
import { refusal } from './to-node-error.js';

/**
 * Evaluates an expression over `input` (parsed, if the text is JSON), `text`, `outputs` and `inputs`. Throws if it is invalid, fails, takes too
 * long, or returns too much.
 */
export function evaluate(expression: string, { input, view }: Pick<NodeContext, 'input' | 'view'>): unknown {
  const compiled = compileExpression(expression);
  if (!compiled.ok) throw refusal(`Invalid expression: it ${compiled.problem}`);
  const answer = compiled.evaluate({
    input: textOrJson(input),
    text: input,
    outputs: lazyMembers(view.outputs), // a run has many outputs, and most expressions name few of them
    inputs: lazyMembers(view.inputs),
  });
  if (!answer.ok) throw refusal(`The expression ${answer.problem}`);
  return answer.value;
}

/**
 * A map as the object that expressions read: members are looked up on access, so values that an expression does not name are not
 * copied. Read-only.
 */
function lazyMembers<Value>(values: ReadonlyMap<string, Value>): Readonly<Record<string, Value>> {
  const has = (name: PropertyKey): name is string => typeof name === 'string' && values.has(name);
  return new Proxy<Record<string, Value>>(
    {},
    {
      has: (_, name) => has(name),
      get: (target, name): unknown => (has(name) ? values.get(name) : Reflect.get(target, name)),
      ownKeys: () => [...values.keys()],
      getOwnPropertyDescriptor: (_, name) =>
        has(name) ? { value: values.get(name), enumerable: true, configurable: true, writable: false } : undefined,
    },
  );
}
