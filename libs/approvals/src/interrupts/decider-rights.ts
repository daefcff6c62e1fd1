import { abilityOf, asSubject, type Principal } from '#auth';
import type { DeciderRights } from '#jobs';

/** What `mayDecide` allows a principal, as the filter of a list of requests. */
export function deciderRightsOf(principal: Principal): DeciderRights {
  const { workspaceId, userId, scopes } = principal;
  if (userId === null || !scopes.includes('approve')) return { userId: null, approves: 'none', changes: 'none' };
  const ability = abilityOf(principal);
  const extent = (may: (createdBy: string | null) => boolean) => (may(null) ? 'any' : may(userId) ? 'own' : 'none');
  return {
    userId,
    approves: extent((requester) => ability.can('approve', asSubject('Interrupt', { workspaceId, requester }))),
    changes: extent((createdBy) => ability.can('change', asSubject('Job', { workspaceId, createdBy }))),
  };
}
