import { abilityOf, asSubject, type MemberPrincipal } from '#auth';

/** Whether the caller may read why the workspace's policy, or a lost permission, blocked a call. */
export function mayReadPolicy(principal: MemberPrincipal): boolean {
  return abilityOf(principal).can('read', asSubject('Workspace', { id: principal.workspaceId }));
}
