import { toSlug } from '#platform';

/**
 * Workflows by the id that stands for their name outside (`workflow/<slug>`, `workflow.<slug>`), in the order given. Of several
 * names with one slug the oldest workflow has it; the others have theirs with a piece of their id behind it, as has one whose
 * name leaves nothing. Pure.
 */
export function workflowsBySlug<T extends { readonly id: string; readonly name: string }>(
  workflows: readonly T[],
): ReadonlyMap<string, T> {
  const oldest = new Map<string, string>();
  for (const { id, name } of workflows) {
    const slug = toSlug(name);
    const known = oldest.get(slug);
    if (known === undefined || id < known) oldest.set(slug, id);
  }
  return new Map(workflows.map((workflow) => [slugOf(workflow, oldest), workflow]));
}

function slugOf({ id, name }: { readonly id: string; readonly name: string }, oldest: Map<string, string>): string {
  const slug = toSlug(name);
  if (slug === '') return `workflow-${id.slice(-6)}`;
  return oldest.get(slug) === id ? slug : `${slug}-${id.slice(-6)}`;
}
