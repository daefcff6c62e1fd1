import { z } from 'zod';

import { type Bus, isId, type PrismaService, type PrismaTransaction } from '#platform';

import { type Action, type AppAbility, defineAbility } from '../abilities.js';
import { abilityOf, assertCan, scopeOf } from '../ability.factory.js';
import type { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { alreadyMember, lastOwner, notFound } from '../auth.errors.js';
import type { IdentityRepository } from '../identity.repository.js';
import { type Page, type PageRequest, rowsFor, toPage } from '../page.js';
import { parseInput } from '../parse-input.js';
import { type MemberPrincipal, type Role, ROLES } from '../principal.js';
import type { Member } from './memberships.repository.js';
import type { WorkspaceTables } from './workspaces.service.js';

const newMemberInput = z.strictObject({
  email: z
    .string()
    .trim()
    .max(320)
    .pipe(z.email())
    .transform((email) => email.toLowerCase()),
  role: z.enum(ROLES),
});

/** The tables behind members. */
export interface MemberTables extends WorkspaceTables {
  readonly apiKeys: ApiKeysRepository;
}

interface Writing {
  readonly tx: PrismaTransaction;
  /** Of the actor's role as it is under the lock. */
  readonly ability: AppAbility;
}

/**
 * Who is in a workspace. Changes of one workspace run one after the other (the workspace row is locked), so that two owners
 * cannot demote each other at once. Each writes its audit entry in the same transaction and hints `access-changed` after it.
 */
export class MembersService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly identities: IdentityRepository,
    private readonly tables: MemberTables,
    private readonly bus: Bus,
  ) {}

  /** The members in the order of user ids; nobody, without the right to read them. */
  async list(principal: MemberPrincipal, page: PageRequest): Promise<Page<Member>> {
    const rows = rowsFor(page);
    const found = await this.prisma.withWorkspace(principal, (tx) =>
      this.tables.memberships.list(tx, scopeOf(principal), rows),
    );
    return toPage(found, rows.take);
  }

  /**
   * Makes the user with this address a member; a user who is not known yet is made, and joins when signing in with the
   * verified address. The answer does not tell which it was. Throws `bad_request`, `already_member`, `forbidden`, `not_found`.
   */
  async add(principal: MemberPrincipal, input: { readonly email: string; readonly role: Role }): Promise<Member> {
    const { email, role } = parseInput(newMemberInput, input);
    const { workspaceId } = principal;
    assertMay(abilityOf(principal), 'create', { workspaceId, userId: '', role });
    const userId = await this.identities.userByEmail({ email, name: '' });
    const key = { workspaceId, userId };
    return this.change(principal, async ({ tx, ability }) => {
      assertMay(ability, 'create', { ...key, role });
      if ((await this.tables.memberships.find(tx, key)) !== null) throw alreadyMember();
      const member = await this.tables.memberships.insert(tx, key, role);
      await this.audit(tx, principal, { action: 'member-added', userId, details: { role } });
      return member;
    });
  }

  /** Throws `not_found`, `forbidden` (an admin and an owner), `last_owner`. The same role again changes nothing. */
  async changeRole(
    principal: MemberPrincipal,
    input: { readonly userId: string; readonly role: Role },
  ): Promise<Member> {
    const { userId, role } = parseInput(z.strictObject({ userId: z.string(), role: z.enum(ROLES) }), input);
    return this.change(principal, async ({ tx, ability }) => {
      const member = await this.find(tx, ability, { workspaceId: principal.workspaceId, userId });
      const key = { workspaceId: principal.workspaceId, userId: member.userId };
      assertMay(ability, 'change', { ...key, role: member.role });
      assertMay(ability, 'change', { ...key, role });
      if (member.role === role) return member;
      if (member.role === 'owner') await this.assertNotLastOwner(tx, principal.workspaceId);
      await this.audit(tx, principal, {
        action: 'member-role-changed',
        userId,
        details: { from: member.role, to: role },
      });
      return this.tables.memberships.changeRole(tx, key, role);
    });
  }

  /** Removes a member and revokes the keys that act as it. Throws `not_found`, `forbidden`, `last_owner`. */
  async remove(principal: MemberPrincipal, userId: string): Promise<Member> {
    return this.change(principal, async ({ tx, ability }) => {
      const member = await this.find(tx, ability, { workspaceId: principal.workspaceId, userId });
      const key = { workspaceId: principal.workspaceId, userId: member.userId };
      assertMay(ability, 'delete', { ...key, role: member.role });
      if (member.role === 'owner') await this.assertNotLastOwner(tx, principal.workspaceId);
      await this.tables.memberships.delete(tx, key);
      const keys = await this.tables.apiKeys.revokeAllOf(tx, key);
      await this.audit(tx, principal, {
        action: 'member-removed',
        userId,
        details: { role: member.role, keysRevoked: keys },
      });
      return member;
    });
  }

  private async change<T>(principal: MemberPrincipal, run: (writing: Writing) => Promise<T>): Promise<T> {
    const { workspaceId, userId } = principal;
    const result = await this.prisma.withWorkspace(principal, async (tx) => {
      await this.tables.workspaces.lock(tx, workspaceId);
      // The principal may be a second old; who was demoted meanwhile must not act on it.
      const actor = await this.tables.memberships.find(tx, { workspaceId, userId });
      if (actor === null) throw notFound('Workspace');
      return run({ tx, ability: defineAbility({ ...principal, role: actor.role }) });
    });
    this.bus.publish('access-changed', { workspaceId });
    return result;
  }

  private async find(
    tx: PrismaTransaction,
    ability: AppAbility,
    key: { workspaceId: string; userId: string },
  ): Promise<Member> {
    const member = isId(key.userId) ? await this.tables.memberships.find(tx, key) : null;
    if (member === null) throw notFound('Membership');
    assertMay(ability, 'read', { ...key, role: member.role });
    return member;
  }

  private async assertNotLastOwner(tx: PrismaTransaction, workspaceId: string): Promise<void> {
    if ((await this.tables.memberships.countOwners(tx, workspaceId)) <= 1) throw lastOwner();
  }

  private audit(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    entry: { action: string; userId: string; details: Record<string, string | number> },
  ): Promise<void> {
    const { action, userId: subjectId, details } = entry;
    const { workspaceId, id: actor } = principal;
    return this.tables.audit.append(tx, { workspaceId, actor, action, subjectType: 'Membership', subjectId, details });
  }
}

function assertMay(
  ability: AppAbility,
  action: Action,
  row: { workspaceId: string; userId: string; role: Role },
): void {
  assertCan(ability, { action, subject: 'Membership', row });
}
