import { z } from 'zod';

import { isId, type Page, type PageRequest, type PrismaService, type PrismaTransaction } from '#platform';

import type { Action, AppAbility } from '../abilities.js';
import { assertCan, scopeOf } from '../ability.factory.js';
import type { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { lastOwner, notFound, personRequired } from '../auth.errors.js';
import type { Identity } from '../identity.js';
import { rowsFor, toPage } from '../page.js';
import { parseInput } from '../parse-input.js';
import { type MemberPrincipal, type Role, ROLES } from '../principal.js';
import type { MembershipChanges } from './membership-changes.js';
import type { Member } from './memberships.repository.js';
import type { WorkspaceTables } from './workspaces.service.js';

/** The tables behind members. */
export interface MemberTables extends WorkspaceTables {
  readonly apiKeys: ApiKeysRepository;
}

/** The actor of a change and its workspace, for the audit. */
interface Actor {
  readonly id: string;
  readonly workspaceId: string;
}

/** The members of a workspace: changes of their roles, and removal. People join by accepting an invitation. */
export class MembersService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly tables: MemberTables,
    private readonly changes: MembershipChanges,
  ) {}

  /** The members, ordered by user id; empty without the right to read them. */
  async list(principal: MemberPrincipal, page: PageRequest): Promise<Page<Member>> {
    const rows = rowsFor(page);
    const found = await this.prisma.withWorkspace(principal, (tx) =>
      this.tables.memberships.list(tx, scopeOf(principal), rows),
    );
    return toPage(found, rows.take);
  }

  /**
   * Throws `not_found`, `forbidden` (for an API key, and for an admin who changes an owner), `last_owner`. Setting the same role again
   * changes nothing.
   */
  async changeRole(
    principal: MemberPrincipal,
    input: { readonly userId: string; readonly role: Role },
  ): Promise<Member> {
    const { userId, role } = parseInput(z.strictObject({ userId: z.string(), role: z.enum(ROLES) }), input);
    return this.changes.byMember(principal, async ({ tx, ability }) => {
      const member = await this.find(tx, ability, { workspaceId: principal.workspaceId, userId });
      const key = { workspaceId: principal.workspaceId, userId: member.userId };
      assertMay(ability, 'change', { ...key, role: member.role });
      assertMay(ability, 'change', { ...key, role });
      return this.giveRole(tx, principal, { member, role });
    });
  }

  /** Like `changeRole`, for the operator, whose rights the caller has checked. Throws `not_found`, `last_owner`. */
  changeRoleAs(
    actor: string,
    { workspaceId, userId, role }: { readonly workspaceId: string; readonly userId: string; readonly role: Role },
  ): Promise<Member> {
    return this.changes.in(workspaceId, async (tx) => {
      const member = await this.known(tx, { workspaceId, userId });
      return this.giveRole(tx, { id: actor, workspaceId }, { member, role });
    });
  }

  /** Removes a member and revokes the keys that act as them. Throws `not_found`, `forbidden`, `last_owner`. */
  async remove(principal: MemberPrincipal, userId: string): Promise<Member> {
    return this.changes.byMember(principal, async ({ tx, ability }) => {
      const member = await this.find(tx, ability, { workspaceId: principal.workspaceId, userId });
      const key = { workspaceId: principal.workspaceId, userId: member.userId };
      assertMay(ability, 'delete', { ...key, role: member.role });
      return this.end(tx, principal, { member, action: 'member-removed' });
    });
  }

  /** Like `remove`, for the operator, whose rights the caller has checked. Throws `not_found`, `last_owner`. */
  removeAs(actor: string, key: { readonly workspaceId: string; readonly userId: string }): Promise<Member> {
    const by = { id: actor, workspaceId: key.workspaceId };
    return this.changes.in(key.workspaceId, async (tx) =>
      this.end(tx, by, { member: await this.known(tx, key), action: 'member-removed' }),
    );
  }

  /**
   * Ends the person's membership and revokes the keys that act as them. Every role may leave; an API key may not (`forbidden`). Throws
   * `last_owner` for the only owner, and `not_found` for a person who is not a member.
   */
  async leave(identity: Pick<Identity, 'id' | 'userId'>, workspaceId: string): Promise<Member> {
    const { id, userId } = identity;
    if (id.startsWith('key:')) throw personRequired('leave a workspace');
    if (!isId(workspaceId)) throw notFound('Workspace');
    return this.changes.in(workspaceId.toLowerCase(), async (tx) => {
      const member = await this.tables.memberships.find(tx, { workspaceId, userId });
      if (member === null) throw notFound('Workspace');
      return this.end(tx, { id, workspaceId: workspaceId.toLowerCase() }, { member, action: 'member-left' });
    });
  }

  private async giveRole(
    tx: PrismaTransaction,
    by: Actor,
    { member, role }: { readonly member: Member; readonly role: Role },
  ): Promise<Member> {
    if (member.role === role) return member;
    if (member.role === 'owner') await this.assertNotLastOwner(tx, by.workspaceId);
    const details = { from: member.role, to: role };
    await this.audit(tx, by, { action: 'member-role-changed', userId: member.userId, details });
    const key = { workspaceId: by.workspaceId, userId: member.userId };
    return this.tables.memberships.changeRole(tx, key, role);
  }

  private async end(
    tx: PrismaTransaction,
    principal: Actor,
    { member, action }: { readonly member: Member; readonly action: string },
  ): Promise<Member> {
    const key = { workspaceId: principal.workspaceId, userId: member.userId };
    if (member.role === 'owner') await this.assertNotLastOwner(tx, principal.workspaceId);
    const keys = await this.tables.apiKeys.revokeAllOf(tx, key);
    await this.tables.memberships.delete(tx, key);
    const details = { role: member.role, keysRevoked: keys };
    await this.audit(tx, principal, { action, userId: member.userId, details });
    return member;
  }

  private async find(
    tx: PrismaTransaction,
    ability: AppAbility,
    key: { workspaceId: string; userId: string },
  ): Promise<Member> {
    const member = await this.known(tx, key);
    assertMay(ability, 'read', { ...key, role: member.role });
    return member;
  }

  private async known(tx: PrismaTransaction, key: { workspaceId: string; userId: string }): Promise<Member> {
    const member = isId(key.userId) ? await this.tables.memberships.find(tx, key) : null;
    if (member === null) throw notFound('Membership');
    return member;
  }

  private async assertNotLastOwner(tx: PrismaTransaction, workspaceId: string): Promise<void> {
    if ((await this.tables.memberships.countOwners(tx, workspaceId)) <= 1) throw lastOwner();
  }

  private audit(
    tx: PrismaTransaction,
    principal: Actor,
    entry: { action: string; userId: string; details: Record<string, string | number> },
  ): Promise<void> {
    const { action, userId: subjectId, details } = entry;
    const { workspaceId, id: actor } = principal;
    return this.changes.audit(tx, { workspaceId, actor }, { action, subjectType: 'Membership', subjectId, details });
  }
}

function assertMay(
  ability: AppAbility,
  action: Action,
  row: { workspaceId: string; userId: string; role: Role },
): void {
  assertCan(ability, { action, subject: 'Membership', row });
}
