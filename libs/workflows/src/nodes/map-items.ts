import { fillText, namesIn, parseTemplate } from '../definition/template.js';
import type { NodeContext } from '../engine/node-executor.js';
import { evaluate } from './evaluate.js';
import { jsonText, textOrJson } from './json-text.js';
import { lookupOf } from './template-lookup.js';
import { refusal } from './to-node-error.js';

/** Returns the items of a map node as the texts that its body reads. `items`: a template or an expression; absent: the input. */
export function mapItems(items: string | undefined, context: Pick<NodeContext, 'input' | 'view'>): readonly string[] {
  const list = listOf(items, context);
  if (!Array.isArray(list)) throw refusal('Invalid items of a map: they are not a list');
  return list.map(jsonText);
}

function listOf(items: string | undefined, context: Pick<NodeContext, 'input' | 'view'>): unknown {
  if (items === undefined) return textOrJson(context.input);
  const template = parseTemplate(items);
  if (namesIn(template).length === 0) return evaluate(items, context);
  return textOrJson(fillText(template, lookupOf(context)));
}
