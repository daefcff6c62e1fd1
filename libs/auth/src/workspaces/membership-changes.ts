import { appendAudit, type Bus, type PrismaService, type PrismaTransaction } from '#platform';

import { type AppAbility, defineAbility } from '../abilities.js';
import { notFound } from '../auth.errors.js';
import type { MemberPrincipal } from '../principal.js';
import type { Member, MembershipsRepository } from './memberships.repository.js';
import type { WorkspacesRepository } from './workspaces.repository.js';

/** The tables that every membership change writes. */
export interface MembershipChangeTables {
  readonly workspaces: WorkspacesRepository;
  readonly memberships: MembershipsRepository;
}

/** What the code of a change gets. */
export interface Writing {
  readonly tx: PrismaTransaction;
  /** The acting member, read under the lock. */
  readonly actor: Member;
  /** The ability of the actor's role, read under the lock. */
  readonly ability: AppAbility;
}

/**
 * Runs changes of a workspace's members. Changes of one workspace run one after the other, under the lock of the workspace row, so that two
 * owners cannot demote each other at the same time. The hint `access-changed` follows each commit.
 */
export class MembershipChanges {
  constructor(
    private readonly prisma: PrismaService,
    private readonly tables: MembershipChangeTables,
    private readonly bus: Bus,
  ) {}

  /** Runs a change by a member. The principal may be a second old, so the role is read again under the lock. */
  byMember<T>(principal: MemberPrincipal, run: (writing: Writing) => Promise<T>): Promise<T> {
    const { workspaceId, userId } = principal;
    return this.in(workspaceId, async (tx) => {
      const actor = await this.tables.memberships.find(tx, { workspaceId, userId });
      if (actor === null) throw notFound('Workspace');
      return run({ tx, actor, ability: defineAbility({ ...principal, role: actor.role }) });
    });
  }

  /** Runs a change of a workspace that the acting person is not a member of; `run` decides whether the change is allowed. */
  async in<T>(workspaceId: string, run: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    const result = await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await this.tables.workspaces.lock(tx, workspaceId);
      return run(tx);
    });
    this.bus.publish('access-changed', { workspaceId });
    return result;
  }

  /** Appends the audit entry of a change, in its transaction. */
  audit(
    tx: PrismaTransaction,
    by: { readonly workspaceId: string; readonly actor: string },
    entry: {
      readonly action: string;
      readonly subjectType: 'Membership' | 'Invitation';
      readonly subjectId: string;
      readonly details: Record<string, string | number>;
    },
  ): Promise<void> {
    return appendAudit(tx, { ...by, ...entry });
  }
}
