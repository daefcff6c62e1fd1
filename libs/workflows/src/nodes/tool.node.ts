import { isJsonObject } from '../definition/json.js';
import { fillJson } from '../definition/template.js';
import { NodeFailure } from '../engine/node-executor.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { lookupOf } from './template-lookup.js';
import { codeOfMessage, refusal } from './to-node-error.js';

/** Runs one tool, with the arguments of the node. */
export const toolNode = defineNode({
  type: 'tool',
  run: async (context) => {
    const { node, ports } = context;
    const { toolId } = node.data;
    const schema = toolId === '' ? undefined : await ports.toolSchema(toolId);
    if (schema === undefined) throw refusal(`Tool not registered: ${toolId}`);
    const called = await ports.callTool({ name: toolId, arguments: JSON.stringify(argumentsOf(context, schema)) });
    if (called.type === 'waiting') return called;
    if (called.status === 'completed') return handOn(called.text);
    // A call that has ended does not run again, because its effects may have happened.
    const code = called.status === 'timed_out' ? 'TIMEOUT' : codeOfMessage(called.text);
    throw new NodeFailure(called.text, code, { isFinal: true });
  },
});

function argumentsOf(context: ContextOf<'tool'>, schema: Readonly<Record<string, unknown>>): unknown {
  const { config } = context.node.data;
  const filled = fillJson(config, lookupOf(context));
  const properties = schema['properties'];
  const wantsInput = isJsonObject(properties) && Object.hasOwn(properties, 'input');
  if (!wantsInput || Object.hasOwn(config, 'input') || !isJsonObject(filled)) return filled;
  return { ...filled, input: context.input };
}
