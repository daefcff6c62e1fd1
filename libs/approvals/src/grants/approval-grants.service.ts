import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type Principal } from '#auth';
import { isId, type Page, type PageRequest, type PrismaTransaction } from '#platform';

import { grantForbidden, grantNotFound } from '../approvals.errors.js';
import {
  type ApprovalGrant,
  ApprovalGrantsRepository,
  type GrantAudience,
  type GrantFilter,
  type GrantNeed,
  type NewGrant,
} from './approval-grants.repository.js';

/** Timed grants. A decision gives a grant, later calls use it, and people list and revoke it. */
@Injectable()
export class ApprovalGrantsService {
  constructor(private readonly grants: ApprovalGrantsRepository) {}

  /** Runs in the transaction of the decision. The caller has checked that the principal may give the grant. Returns the id of the grant. */
  create(tx: PrismaTransaction, grant: NewGrant): Promise<string> {
    return this.grants.insert(tx, grant);
  }

  /** Returns the grant that approves a call now, and who gave it; null: no grant does. */
  findUsable(workspaceId: string, need: GrantNeed): Promise<{ id: string; grantedBy: string } | null> {
    return this.grants.findUsable(workspaceId, need);
  }

  /** Records in the audit log that a grant approved a call. */
  recordUse(workspaceId: string, use: { grantId: string; jobId: string; tool: string }): Promise<void> {
    return this.grants.recordUse(workspaceId, use);
  }

  /** Newest first. Approvers see all grants of their workspace; other principals see those that they gave or received. */
  async list(principal: Principal, filter: GrantFilter, page: PageRequest): Promise<Page<ApprovalGrant>> {
    const { workspaceId } = principal;
    const mayRead = abilityOf(principal).can('read', asSubject('ToolCall', { workspaceId }));
    const isPossible = filter.threadId === null || isId(filter.threadId);
    if (!mayRead || !isPossible) return { items: [], hasMore: false };
    const wanted = { filter, take: page.first + 1, after: page.after };
    const rows = await this.grants.list(workspaceId, audienceOf(principal), wanted);
    return { items: rows.slice(0, page.first), hasMore: rows.length > page.first };
  }

  /**
   * Revokes a grant at once. The principal who gave it, its requester and approvers may revoke it. A grant that has ended does not change.
   * Throws `not_found`, and `forbidden` to keys without the scope `approve`.
   */
  async revoke(principal: Principal, id: string): Promise<ApprovalGrant> {
    const { workspaceId, id: by } = principal;
    const audience = audienceOf(principal);
    const grant = isId(id) ? await this.grants.find(workspaceId, audience, id) : null;
    if (grant === null) throw grantNotFound();
    if (!principal.scopes.includes('approve')) throw grantForbidden();
    await this.grants.revoke(workspaceId, { id, by });
    return (await this.grants.find(workspaceId, audience, id)) ?? grant;
  }
}

/** A caller without a user sees no grants: the workspace itself neither gives nor receives a grant. */
function audienceOf(principal: Principal): GrantAudience {
  const { workspaceId, userId } = principal;
  const isApprover = abilityOf(principal).can('approve', asSubject('ToolCall', { workspaceId, createdBy: null }));
  return isApprover ? null : (userId ?? workspaceId);
}
