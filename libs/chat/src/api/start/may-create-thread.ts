import { abilityOf, asSubject, type MemberPrincipal } from '#auth';

/** Whether a start may create the thread that it names. */
export function mayCreateThread(principal: MemberPrincipal): boolean {
  const { workspaceId, userId } = principal;
  return abilityOf(principal).can('create', asSubject('Thread', { workspaceId, createdBy: userId }));
}
