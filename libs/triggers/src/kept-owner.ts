import { isId } from '#platform';

/** The owner of what is saved again; `known`: what was saved before. Rows that are older than owners name the user who saved them last. */
export function keptOwner(
  known: { readonly owner: string | null; readonly savedBy: string } | null,
  { userId }: { readonly userId: string },
): string {
  if (known === null) return userId;
  const saver = known.savedBy.replace(/^user:/, '');
  return known.owner ?? (isId(saver) ? saver : userId);
}
