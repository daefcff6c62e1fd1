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

/** Timed grants: given with a decision, used by later calls, listed and revoked by people. */
@Injectable()
export class ApprovalGrantsService {
  constructor(private readonly grants: ApprovalGrantsRepository) {}

  /** Inside the transaction of the decision that gives it. The caller has asked whether its giver may; returns the grant's id. */
  create(tx: PrismaTransaction, grant: NewGrant): Promise<string> {
    return this.grants.insert(tx, grant);
  }

  /** For a call that needs approval: the grant that approves it now, and who gave it; null: none. */
  findUsable(workspaceId: string, need: GrantNeed): Promise<{ id: string; grantedBy: string } | null> {
    return this.grants.findUsable(workspaceId, need);
  }

  /** Audits that a call was approved by a grant. */
  recordUse(workspaceId: string, use: { grantId: string; jobId: string; tool: string }): Promise<void> {
    return this.grants.recordUse(workspaceId, use);
  }

  /** Newest first. Approvers see all of their workspace, others those given to them or by them. */
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
   * Ends a grant at once: for who gave it, whom it is for, and approvers. One that has ended stays as it is. Throws
   * `not_found`, and `forbidden` to keys without the scope `approve`.
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

/** A caller without a user sees no grants: no grant is for or by the workspace itself. */
function audienceOf(principal: Principal): GrantAudience {
  const { workspaceId, userId } = principal;
  const isApprover = abilityOf(principal).can('approve', asSubject('ToolCall', { workspaceId, createdBy: null }));
  return isApprover ? null : (userId ?? workspaceId);
}
