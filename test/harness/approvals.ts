import { FeatureFlags, type KeyScope, type MemberPrincipal } from '#auth';
import { Config, newId } from '#platform';

import { PolicyExplainer } from '../../libs/approvals/src/gate/policy-explainer.service.js';
import { ApprovalGrantsRepository } from '../../libs/approvals/src/grants/approval-grants.repository.js';
import { ApprovalGrantsService } from '../../libs/approvals/src/grants/approval-grants.service.js';
import { ApprovalPoliciesRepository } from '../../libs/approvals/src/policies/approval-policies.repository.js';
import { ApprovalPoliciesService } from '../../libs/approvals/src/policies/approval-policies.service.js';
import { PastCallsRepository } from '../../libs/approvals/src/policies/past-calls.repository.js';
import { PolicyReplayService } from '../../libs/approvals/src/policies/policy-replay.service.js';
import { FeatureFlagsRepository } from '../../libs/auth/src/flags/feature-flags.repository.js';
import { ToolCatalog } from '../../libs/tools/src/catalog/tool-catalog.js';
import { ToolRegistry } from '../../libs/tools/src/tool.registry.js';
import type { TestDatabase } from './database.js';

/** The services of the approval policy over a test database, as one process has them. */
export interface TestApprovals {
  readonly policies: ApprovalPoliciesService;
  readonly grants: ApprovalGrantsService;
  readonly explainer: PolicyExplainer;
  readonly replays: PolicyReplayService;
  readonly registry: ToolRegistry;
  /** One statement as the api's login, inside the workspace. */
  sql(workspaceId: string, text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** The audit entries about approvals, oldest first. */
  auditOf(principal: { readonly workspaceId: string }): Promise<Record<string, unknown>[]>;
}

/** Another process over the same database is another call. `env` replaces settings by the names of their variables. */
export function openApprovals(database: TestDatabase, env: Readonly<Record<string, string>> = {}): TestApprovals {
  const { postgres, prisma } = database;
  const config = Config.from(env);
  const registry = new ToolRegistry();
  const catalog = new ToolCatalog(registry, new FeatureFlags(new FeatureFlagsRepository(prisma)));
  const grantRows = new ApprovalGrantsRepository(prisma);
  const grants = new ApprovalGrantsService(grantRows);
  const policies = new ApprovalPoliciesService(new ApprovalPoliciesRepository(prisma), grantRows);
  const sql: TestApprovals['sql'] = (workspaceId, text, values) =>
    postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
      return rows;
    });
  return {
    policies,
    grants,
    registry,
    explainer: new PolicyExplainer(policies, grants, catalog, config),
    replays: new PolicyReplayService(policies, new PastCallsRepository(prisma), catalog, config),
    sql,
    auditOf: ({ workspaceId }) =>
      sql(
        workspaceId,
        `SELECT action, actor, subject_type, subject_id, details FROM audit_entry WHERE action LIKE 'approval-%' ORDER BY id`,
        [],
      ),
  };
}

/** An API key principal of that member with those scopes, without a row in the database. */
export function keyOf(member: MemberPrincipal, scopes: readonly KeyScope[]): MemberPrincipal {
  const { workspaceId, userId, role } = member;
  return { kind: 'key', id: `key:${newId()}`, prefix: 'p', workspaceId, userId, role, scopes, expiresAt: null };
}
