import { compileGlob } from './collection-glob.js';
import type { TriggerDefinition } from './trigger-definition.js';

/** Rows of a workspace that are documents of its own database: `jobs`, `threads/<id>/messages` and `threads/<id>/tool-calls`. */
export type OwnKind = 'jobs' | 'messages' | 'tool-calls';

/** The kinds whose collections a trigger may match. `databases`: the names of the workspace's own database. */
export function ownKindsOf(
  { database, collection }: Pick<TriggerDefinition, 'database' | 'collection'>,
  databases: readonly string[],
): readonly OwnKind[] {
  if (collection === null || !databases.includes(database)) return [];
  const [first = '', , last = '', ...more] = collection.split('/');
  if (!collection.includes('/')) return compileGlob(collection)('jobs') ? ['jobs'] : [];
  if (last === '' || more.length > 0) return [];
  const matches = compileGlob(`${first}/${last}`);
  return (['messages', 'tool-calls'] as const).filter((kind) => matches(`threads/${kind}`));
}
