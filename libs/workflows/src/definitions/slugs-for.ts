import { toSlug } from '#platform';

/**
 * Candidates for the public slug of a new workflow (`workflow/<slug>`, `workflow.<slug>`), the best first: its name, or, when that
 * is empty or in use, the name with a piece of the id. The last candidate is unique. Pure.
 */
export function slugsFor({ id, name }: { readonly id: string; readonly name: string }): readonly [string, ...string[]] {
  const own = toSlug(name);
  const piece = id.slice(-6);
  const whole = `workflow-${id}`;
  return own === '' ? [`workflow-${piece}`, whole] : [own, `${own}-${piece}`, whole];
}
