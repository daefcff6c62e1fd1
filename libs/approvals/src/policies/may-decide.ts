import { abilityOf, asSubject, type Principal } from '#auth';

import type { DecidableBy } from './approval-policy.js';

/** The fields of a request that determine who may decide it. */
export interface DecidableRequest {
  readonly workspaceId: string;
  readonly decidableBy: DecidableBy;
  readonly fourEyes: boolean;
  readonly adminRequired: boolean;
  /** The user who started the (root) job; null: no user did, and the approvers decide. */
  readonly requester: string | null;
  /** The user whose job it is. */
  readonly jobCreatedBy: string | null;
}

/**
 * Whether the principal, with its current rights, may decide the request. Only people may, and API keys of people with the scope `approve`;
 * never the system principal. Check at the decision, and again when the call runs.
 */
export function mayDecide(principal: Principal, request: DecidableRequest): boolean {
  if (principal.kind === 'system' || principal.workspaceId !== request.workspaceId) return false;
  if (!principal.scopes.includes('approve')) return false;
  if (request.fourEyes && principal.userId === request.requester) return false;
  return isOneOf(effectiveDecidableBy(request), principal, request);
}

function effectiveDecidableBy({ decidableBy, adminRequired, requester }: DecidableRequest): DecidableBy {
  if (adminRequired) return 'approvers';
  return decidableBy === 'requester' && requester === null ? 'approvers' : decidableBy;
}

function isOneOf(decidableBy: DecidableBy, principal: Principal, request: DecidableRequest): boolean {
  const ability = abilityOf(principal);
  const { workspaceId, requester, jobCreatedBy } = request;
  const mayApprove = (person: string | null): boolean =>
    ability.can('approve', asSubject('Interrupt', { workspaceId, requester: person }));
  switch (decidableBy) {
    case 'approvers':
      return mayApprove(null); // a principal who may approve a request without a requester may approve any request
    case 'requester':
      return principal.userId === requester && mayApprove(requester);
    case 'members':
      return ability.can('change', asSubject('Job', { workspaceId, createdBy: jobCreatedBy }));
  }
}
