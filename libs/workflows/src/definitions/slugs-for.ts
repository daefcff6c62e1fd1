import { toSlug } from '#platform';

/**
 * What may stand for a new workflow outside (`workflow/<slug>`, `workflow.<slug>`), the best first: its name, or, where that leaves
 * nothing or is another's, with a piece of its id. The last one is nobody else's. Pure.
 */
export function slugsFor({ id, name }: { readonly id: string; readonly name: string }): readonly [string, ...string[]] {
  const own = toSlug(name);
  const piece = id.slice(-6);
  const whole = `workflow-${id}`;
  return own === '' ? [`workflow-${piece}`, whole] : [own, `${own}-${piece}`, whole];
}
