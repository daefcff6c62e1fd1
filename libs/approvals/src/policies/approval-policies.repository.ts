import { Injectable } from '@nestjs/common';

import { appendAudit, type ApprovalPolicyRow, type Prisma, PrismaService, type PrismaTransaction } from '#platform';

import { type ApprovalPolicy, readStoredPolicy } from './approval-policy.js';

/** A version of a workspace's policy. Versions are added and never changed. */
export interface StoredPolicy {
  /** 1, 2, 3 …; 0: the workspace has not saved a policy. */
  readonly version: number;
  readonly policy: ApprovalPolicy;
  /** The principal id of the caller that saved it; null for version 0. */
  readonly createdBy: string | null;
  /** In ms since the epoch; null for version 0. */
  readonly createdAt: number | null;
}

/** A version to store. */
export interface NewPolicy {
  readonly workspaceId: string;
  readonly version: number;
  readonly policy: ApprovalPolicy;
  readonly by: string;
}

/** The versions of the approval policy of a workspace. The caller has checked the right. */
@Injectable()
export class ApprovalPoliciesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the newest version; null: the workspace has not saved a policy. */
  findCurrent(workspaceId: string): Promise<StoredPolicy | null> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) => newest(tx, workspaceId));
  }

  async findVersion(workspaceId: string, version: number): Promise<StoredPolicy | null> {
    const key = { workspaceId_version: { workspaceId, version } };
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) => tx.approvalPolicy.findUnique({ where: key }));
    return row === null ? null : toPolicy(row);
  }

  /** Runs `change` in a transaction that excludes all other changes of the workspace's policy. `current` is the newest version. */
  changing<T>(
    workspaceId: string,
    change: (tx: PrismaTransaction, current: StoredPolicy | null) => Promise<T>,
  ): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await tx.$queryRaw`SELECT FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
      // A separate statement, because the snapshot of the locking statement is older than the lock.
      return change(tx, await newest(tx, workspaceId));
    });
  }

  /** Adds the version, and an entry to the audit log. */
  async insert(tx: PrismaTransaction, { workspaceId, version, policy, by }: NewPolicy): Promise<StoredPolicy> {
    const details = { version, rules: policy.rules.length };
    const subject = { subjectType: 'Workspace', subjectId: workspaceId };
    await appendAudit(tx, { workspaceId, actor: by, action: 'approval-policy-saved', ...subject, details });
    const json = policy as unknown as Prisma.InputJsonObject; // parsed from JSON
    return toPolicy(await tx.approvalPolicy.create({ data: { workspaceId, version, policy: json, createdBy: by } }));
  }
}

async function newest(tx: PrismaTransaction, workspaceId: string): Promise<StoredPolicy | null> {
  const row = await tx.approvalPolicy.findFirst({ where: { workspaceId }, orderBy: { version: 'desc' } });
  return row === null ? null : toPolicy(row);
}

function toPolicy({ version, policy, createdBy, createdAt }: ApprovalPolicyRow): StoredPolicy {
  return { version, policy: readStoredPolicy(policy), createdBy, createdAt: createdAt.getTime() };
}
