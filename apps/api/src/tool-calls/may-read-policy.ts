import { abilityOf, asSubject, type MemberPrincipal } from '#auth';

/** Whether somebody is told why the policy of the workspace, or a lost right, kept a call from running. */
export function mayReadPolicy(principal: MemberPrincipal): boolean {
  return abilityOf(principal).can('read', asSubject('Workspace', { id: principal.workspaceId }));
}
