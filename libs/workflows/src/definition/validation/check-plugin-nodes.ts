import { isJsonObject, type JsonObject } from '../json.js';
import { namesIn, parseTemplate } from '../template.js';
import { type Draft, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** The types of nodes that the plugins of this server define. */
export interface PluginNodeTypes {
  /** Returns the problems of a node's data, one clause each; null: no plugin defines the type. Never throws. */
  problemsOf(type: string, given: JsonObject): readonly string[] | null;
}

/** Checks nodes of plugins: a plugin must define the type, and data without placeholders must match its schema. */
export function checkPluginNodes(draft: Draft, types: PluginNodeTypes | null, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type !== 'plugin') continue;
    const { given } = node.data;
    const problems = types?.problemsOf(node.name, hasPlaceholders(given) ? {} : given) ?? null;
    if (problems === null) {
      const [namespace = ''] = node.name.split('.');
      const message = `Node "${node.id}" has the type "${node.name}", which no plugin of this server defines. Install the plugin that defines the nodes of "${namespace}".`;
      issues.error('UNKNOWN_NODE_TYPE', placeOf(node, 'type'), message);
    } else if (problems.length > 0 && !hasPlaceholders(given))
      issues.error(
        'DATA_VALIDATION_ERROR',
        placeOf(node, 'data'),
        `The data of node "${node.id}" is not valid for "${node.name}": ${problems.join('; ')}.`,
      );
  }
}

/**
 * The values of placeholders are known only when the node runs, and the data is validated again then. Recurses once per level of the definition,
 * which is not deep.
 */
function hasPlaceholders(value: unknown): boolean {
  if (typeof value === 'string') return namesIn(parseTemplate(value)).length > 0;
  if (Array.isArray(value)) return value.some(hasPlaceholders);
  return isJsonObject(value) && Object.values(value).some(hasPlaceholders);
}
