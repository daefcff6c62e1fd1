import { parseJson } from '#platform';
import { compileSchema } from '#tools';

import { NodeFailure } from '../engine/node-executor.js';
import type { NodeError } from '../engine/node-run.js';
import { defineNode } from './define-node.js';
import { handOn } from './settlements.js';

/** Passes its input on if it matches a JSON Schema. */
export const schemaValidationNode = defineNode({
  type: 'schemaValidation',
  isPure: () => true,
  run: ({ node, input }) => {
    const { spec, onInvalid } = node.data;
    const problems = problemsOf(spec, input);
    if (problems.length === 0) return handOn(input);
    const message = `The input does not fit the schema: ${problems.join('; ')}`;
    if (onInvalid === 'error') throw new NodeFailure(message, 'VALIDATION', { isFinal: true });
    const error: NodeError = { message, code: 'VALIDATION', nodeId: node.id };
    return handOn(input, ['invalid'], { outputs: { [`${node.id}_error`]: JSON.stringify(error) } });
  },
});

function problemsOf(spec: Readonly<Record<string, unknown>>, input: string): readonly string[] {
  const check = compileSchema(spec);
  let value: unknown;
  try {
    value = parseJson(input);
  } catch {
    return ['it is not JSON'];
  }
  return check(value);
}
