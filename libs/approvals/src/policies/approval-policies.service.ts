import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { systemClock, TimedCache, toStorable } from '#platform';
import { canonicalJson } from '#tools';

import { policyMoved } from '../approvals.errors.js';
import { ApprovalGrantsRepository } from '../grants/approval-grants.repository.js';
import { ApprovalPoliciesRepository, type StoredPolicy } from './approval-policies.repository.js';
import { type ApprovalPolicy, DEFAULT_POLICY, parseApprovalPolicy } from './approval-policy.js';

/** A policy to save, as its author wrote it. */
export interface PolicyDraft {
  /** The contract's `toolApproval` object; what it leaves out gets its default. */
  readonly policy: unknown;
  /** The version it was made from; null: whichever there is. */
  readonly expectedVersion: number | null;
}

/** How long another process may use a policy after it was changed here, ms. */
const freshMs = 1_000;

const NEVER_SAVED: StoredPolicy = { version: 0, policy: DEFAULT_POLICY, createdBy: null, createdAt: null };

/** The approval policy of a workspace: read by every call, seen and changed by those who run the workspace. */
@Injectable()
export class ApprovalPoliciesService {
  private readonly cache = new TimedCache<StoredPolicy>({ clock: systemClock, ttlMs: freshMs, max: 10_000 });

  constructor(
    private readonly policies: ApprovalPoliciesRepository,
    private readonly grants: ApprovalGrantsRepository,
  ) {}

  /** For judging calls: the policy of now, or up to a second ago. */
  current(workspaceId: string): Promise<StoredPolicy> {
    return this.cache.get(workspaceId, async () => (await this.policies.findCurrent(workspaceId)) ?? NEVER_SAVED);
  }

  /** For people: the newest version, or an older one; null: there is none of that number. Throws `not_found` to others. */
  async find(principal: Principal, version: number | null = null): Promise<StoredPolicy | null> {
    assertMaySee(principal);
    const { workspaceId } = principal;
    if (version !== null && version !== 0) return this.policies.findVersion(workspaceId, version);
    if (version === 0) return NEVER_SAVED;
    return (await this.policies.findCurrent(workspaceId)) ?? NEVER_SAVED;
  }

  /** A policy with its defaults. Saves nothing. Throws as `save`, except `conflict`. */
  validate(principal: Principal, policy: unknown): ApprovalPolicy {
    assertMaySee(principal);
    return parseApprovalPolicy(toStorable(policy, 'policy'));
  }

  /**
   * Adds a version, which ends the grants of the earlier ones, and audits it. The policy that is current already is not saved
   * again. Throws `not_found`, `forbidden`, `bad_request` (with the path of the wrong field), `conflict` when the current
   * version is not the expected one.
   */
  async save(principal: Principal, draft: PolicyDraft): Promise<StoredPolicy> {
    const { workspaceId, id: by } = principal;
    assertCan(abilityOf(principal), { action: 'change', subject: 'Workspace', row: { id: workspaceId } });
    const policy = parseApprovalPolicy(toStorable(draft.policy, 'policy'));
    const saved = await this.policies.changing(workspaceId, async (tx, newest) => {
      const { version, policy: before } = newest ?? NEVER_SAVED;
      if (draft.expectedVersion !== null && draft.expectedVersion !== version) throw policyMoved(version);
      if (newest !== null && isSame(before, policy)) return newest;
      await this.grants.endAll(tx, { workspaceId, by });
      return this.policies.insert(tx, { workspaceId, version: version + 1, policy, by });
    });
    this.cache.forget(workspaceId);
    return saved;
  }
}

/** Throws `not_found` to a caller who may not see the policy of the workspace. */
export function assertMaySee(principal: Principal): void {
  assertCan(abilityOf(principal), { action: 'read', subject: 'Workspace', row: { id: principal.workspaceId } });
}

function isSame(a: ApprovalPolicy, b: ApprovalPolicy): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
