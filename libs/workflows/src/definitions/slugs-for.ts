import { toSlug } from '#platform';

/**
 * Candidates for the public slug of a new workflow (`workflow/<slug>`, `workflow.<slug>`), best first: its name, then the name with a part of the id
 * if the name is empty or in use. The last candidate is unique. Pure.
 */
export function slugsFor({ id, name }: { readonly id: string; readonly name: string }): readonly [string, ...string[]] {
  const own = toSlug(name);
  const piece = id.slice(-6);
  const whole = `workflow-${id}`;
  return own === '' ? [`workflow-${piece}`, whole] : [own, `${own}-${piece}`, whole];
}
