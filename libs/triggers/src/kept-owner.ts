import { isId } from '#platform';

/**
 * The owner of a row that is saved again; `known`: the row before. Rows that are older than the column have no owner and name the user who saved
 * them last.
 */
export function keptOwner(
  known: { readonly owner: string | null; readonly savedBy: string } | null,
  { userId }: { readonly userId: string },
): string {
  if (known === null) return userId;
  const saver = known.savedBy.replace(/^user:/, '');
  return known.owner ?? (isId(saver) ? saver : userId);
}
