import { fillText, parseTemplate } from '../definition/template.js';
import type { NodeOutcome } from '../engine/node-executor.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { lookupOf } from './template-lookup.js';

/** Stores a text for later nodes and runs of the session, or finds stored texts. */
export const memoryNode = defineNode({
  type: 'memory',
  run: (context) => {
    const { text } = context.node.data;
    const isOwn = text !== undefined && text !== '';
    const filled = isOwn ? fillText(parseTemplate(text), lookupOf(context)) : context.input;
    return context.node.data.operation === 'store' ? store(context, filled) : query(context, filled);
  },
});

async function store({ node, view, ports }: ContextOf<'memory'>, text: string): Promise<NodeOutcome> {
  await ports.remember(text, {
    timestamp: new Date(ports.now()).toISOString(),
    source: 'agent',
    nodeId: node.id,
    sessionId: view.sessionId,
    ...node.data.metadata,
  });
  return handOn(text);
}

async function query({ node, ports }: ContextOf<'memory'>, text: string): Promise<NodeOutcome> {
  const { limit, filter, fallback } = node.data;
  const found = await ports.recall({ text, limit, filter });
  return handOn(
    found.length === 0 ? fallback : found.map((one) => `[${one.at}] [${one.nodeId}] ${one.text}`).join('\n'),
  );
}
