import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { systemClock, TimedCache, toStorable } from '#platform';
import { canonicalJson } from '#tools';

import { policyChanged } from '../approvals.errors.js';
import { ApprovalGrantsRepository } from '../grants/approval-grants.repository.js';
import { ApprovalPoliciesRepository, type StoredPolicy } from './approval-policies.repository.js';
import { type ApprovalPolicy, DEFAULT_POLICY, parseApprovalPolicy } from './approval-policy.js';

/** A policy to save, as its author wrote it. */
export interface PolicyDraft {
  /** The `toolApproval` object of the contract; absent fields get their defaults. */
  readonly policy: unknown;
  /** The version that the change is based on; null: any version. */
  readonly expectedVersion: number | null;
}

/** How long another process may use the previous policy after a change, in ms. */
const freshMs = 1_000;

const NEVER_SAVED: StoredPolicy = { version: 0, policy: DEFAULT_POLICY, createdBy: null, createdAt: null };

/** The approval policy of a workspace. The gate reads it for every call; admins read and change it. */
@Injectable()
export class ApprovalPoliciesService {
  private readonly cache = new TimedCache<StoredPolicy>({ clock: systemClock, ttlMs: freshMs, max: 10_000 });

  constructor(
    private readonly policies: ApprovalPoliciesRepository,
    private readonly grants: ApprovalGrantsRepository,
  ) {}

  /** Returns the policy for the gate: the current one, or one that was current up to a second ago. */
  current(workspaceId: string): Promise<StoredPolicy> {
    return this.cache.get(workspaceId, async () => (await this.policies.findCurrent(workspaceId)) ?? NEVER_SAVED);
  }

  /**
   * Returns the policy for people: the newest version, or an older one; null: that version does not exist. Throws `not_found` to principals
   * that may not read the policy.
   */
  async find(principal: Principal, version: number | null = null): Promise<StoredPolicy | null> {
    assertMaySee(principal);
    const { workspaceId } = principal;
    if (version !== null && version !== 0) return this.policies.findVersion(workspaceId, version);
    if (version === 0) return NEVER_SAVED;
    return (await this.policies.findCurrent(workspaceId)) ?? NEVER_SAVED;
  }

  /** Validates a policy and fills in its defaults. Saves nothing. Throws the errors of `save`, except `conflict`. */
  validate(principal: Principal, policy: unknown): ApprovalPolicy {
    assertMaySee(principal);
    return parseApprovalPolicy(toStorable(policy, 'policy'));
  }

  /**
   * Adds a version, which ends the grants of earlier versions, and audits it. If the policy equals the current one, nothing is saved. Throws
   * `not_found`, `forbidden`, `bad_request` (with the path of the wrong field), and `conflict` if the current version is not the expected
   * one.
   */
  async save(principal: Principal, draft: PolicyDraft): Promise<StoredPolicy> {
    const { workspaceId, id: by } = principal;
    assertCan(abilityOf(principal), { action: 'change', subject: 'Workspace', row: { id: workspaceId } });
    const policy = parseApprovalPolicy(toStorable(draft.policy, 'policy'));
    const saved = await this.policies.changing(workspaceId, async (tx, newest) => {
      const { version, policy: before } = newest ?? NEVER_SAVED;
      if (draft.expectedVersion !== null && draft.expectedVersion !== version) throw policyChanged(version);
      if (newest !== null && isSame(before, policy)) return newest;
      await this.grants.endAll(tx, { workspaceId, by });
      return this.policies.insert(tx, { workspaceId, version: version + 1, policy, by });
    });
    this.cache.forget(workspaceId);
    return saved;
  }
}

/** Throws `not_found` to a caller that may not read the policy of the workspace. */
export function assertMaySee(principal: Principal): void {
  assertCan(abilityOf(principal), { action: 'read', subject: 'Workspace', row: { id: principal.workspaceId } });
}

function isSame(a: ApprovalPolicy, b: ApprovalPolicy): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
