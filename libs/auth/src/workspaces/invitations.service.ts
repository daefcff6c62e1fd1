import { z } from 'zod';

import {
  type Clock,
  isId,
  newId,
  type Page,
  type PageRequest,
  type PrismaService,
  type PrismaTransaction,
} from '#platform';

import { defineAbility } from '../abilities.js';
import { abilityOf, assertCan, scopeOf } from '../ability.factory.js';
import { alreadyMember, notFound, personRequired, tooManyInvitations, unverifiedAddress } from '../auth.errors.js';
import type { Identity } from '../identity.js';
import type { IdentityRepository, ReceivedInvitation } from '../identity.repository.js';
import { rowsFor, toPage } from '../page.js';
import { parseInput } from '../parse-input.js';
import { type MemberPrincipal, type Role, ROLES, userPrincipal } from '../principal.js';
import type { Invitation, InvitationsRepository } from './invitations.repository.js';
import type { MembershipChanges } from './membership-changes.js';
import type { Member, MembershipsRepository } from './memberships.repository.js';

/** Maximum open invitations of a workspace, against floods. */
const MAX_OPEN = 1_000;

const newInvitationInput = z.strictObject({
  email: z
    .string()
    .trim()
    .max(320)
    .pipe(z.email())
    .transform((email) => email.toLowerCase()),
  role: z.enum(ROLES),
});

/** Dependencies of `InvitationsService`. */
export interface InvitationsServiceParts {
  readonly prisma: PrismaService;
  readonly identities: IdentityRepository;
  readonly memberships: MembershipsRepository;
  readonly invitations: InvitationsRepository;
  readonly changes: MembershipChanges;
  readonly clock: Clock;
  /** INVITATION_TTL_MS. */
  readonly ttlMs: number;
}

/**
 * Offers membership. An invitation gives no right until the invited person accepts it with a token whose issuer has verified the invited
 * address. Inviting neither reads nor writes users, so its result does not reveal whether a user exists.
 */
export class InvitationsService {
  constructor(private readonly parts: InvitationsServiceParts) {}

  /**
   * Offers `role` to an address. A second invitation of the same address replaces the first. Throws `bad_request`, `already_member` (members
   * of this workspace are visible to the inviter anyway), `forbidden`, `not_found`, `conflict` (too many open invitations).
   */
  async invite(
    principal: MemberPrincipal,
    input: { readonly email: string; readonly role: Role },
  ): Promise<Invitation> {
    const { email, role } = parseInput(newInvitationInput, input);
    const { workspaceId, userId: invitedBy } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Invitation', row: { workspaceId, role } });
    const { memberships, invitations, changes, clock, ttlMs } = this.parts;
    return changes.byMember(principal, async ({ tx, ability }) => {
      assertCan(ability, { action: 'create', subject: 'Invitation', row: { workspaceId, role } });
      if (await memberships.hasEmail(tx, workspaceId, email)) throw alreadyMember();
      await invitations.deleteExpired(tx, workspaceId, clock.now());
      const earlier = await invitations.findByEmail(tx, { workspaceId, email });
      if (earlier !== null) {
        // An admin must not replace the invitation of an owner.
        const row = { workspaceId, role: earlier.role };
        assertCan(ability, { action: 'delete', subject: 'Invitation', row });
        await invitations.delete(tx, { workspaceId, id: earlier.id });
      }
      if ((await invitations.count(tx, workspaceId)) >= MAX_OPEN) throw tooManyInvitations(MAX_OPEN);
      const fresh = { workspaceId, id: newId(), email, role, invitedBy, expiresAt: clock.now() + ttlMs };
      const invitation = await invitations.insert(tx, fresh);
      await this.audit(tx, principal, { action: 'invitation-created', invitation });
      return invitation;
    });
  }

  /** The open and expired invitations of the workspace, oldest first; empty without the right to read them. */
  async list(principal: MemberPrincipal, page: PageRequest): Promise<Page<Invitation>> {
    const rows = rowsFor(page);
    const found = await this.parts.prisma.withWorkspace(principal, (tx) =>
      this.parts.invitations.list(tx, scopeOf(principal), rows),
    );
    return toPage(found, rows.take);
  }

  /** Revokes an invitation. Throws `not_found`, also when it was accepted or declined meanwhile, and `forbidden`. */
  async revoke(principal: MemberPrincipal, id: string): Promise<Invitation> {
    const { workspaceId } = principal;
    return this.parts.changes.byMember(principal, async ({ tx, ability }) => {
      const invitation = isId(id) ? await this.parts.invitations.find(tx, { workspaceId, id }) : null;
      if (invitation === null) throw notFound('Invitation');
      const row = { workspaceId, role: invitation.role };
      assertCan(ability, { action: 'delete', subject: 'Invitation', row });
      await this.parts.invitations.delete(tx, { workspaceId, id });
      await this.audit(tx, principal, { action: 'invitation-revoked', invitation });
      return invitation;
    });
  }

  /** The invitations that this person may accept now, newest first; empty for an API key or an unverified address. */
  async received(identity: Identity, page: PageRequest): Promise<Page<ReceivedInvitation>> {
    const rows = rowsFor(page);
    const email = identity.verifiedEmail ?? null;
    if (email === null) return { items: [], hasMore: false };
    const now = this.parts.clock.now();
    return toPage(await this.parts.identities.invitationsOf({ email, now, ...rows }), rows.take);
  }

  /**
   * Makes the person a member. Throws `forbidden` for an API key and for a token without a verified address. Throws `not_found` if the
   * invitation is absent, expired or for another address, or if its inviter may no longer give that role.
   */
  accept(identity: Identity, id: string): Promise<{ readonly workspaceId: string; readonly member: Member }> {
    return this.settle(identity, id, async (tx, { workspaceId, invitation }) => {
      const { memberships, changes } = this.parts;
      const key = { workspaceId, userId: identity.userId };
      const inviter = await memberships.find(tx, { workspaceId, userId: invitation.invitedBy });
      if (inviter === null || !mayInvite(workspaceId, inviter, invitation.role)) throw notFound('Invitation');
      const known = await memberships.find(tx, key);
      if (known !== null) return { workspaceId, member: known };
      const member = await memberships.insert(tx, key, invitation.role);
      await changes.audit(
        tx,
        { workspaceId, actor: identity.id },
        {
          action: 'member-added',
          subjectType: 'Membership',
          subjectId: identity.userId,
          details: { role: invitation.role, invitation: invitation.id, invitedBy: invitation.invitedBy },
        },
      );
      return { workspaceId, member };
    });
  }

  /** Deletes an invitation without accepting it. Throws like `accept`. */
  decline(identity: Identity, id: string): Promise<{ readonly workspaceId: string }> {
    return this.settle(identity, id, async (tx, { workspaceId, invitation }) => {
      await this.audit(tx, { workspaceId, id: identity.id }, { action: 'invitation-declined', invitation });
      return { workspaceId };
    });
  }

  private async settle<T>(
    identity: Identity,
    id: string,
    run: (tx: PrismaTransaction, found: { workspaceId: string; invitation: Invitation }) => Promise<T>,
  ): Promise<T> {
    const { identities, invitations, changes, clock } = this.parts;
    if (identity.id.startsWith('key:')) throw personRequired('accept or decline an invitation');
    const email = identity.verifiedEmail ?? null;
    if (email === null) throw unverifiedAddress();
    const asked = { email, id, now: clock.now(), take: 1 };
    const [received] = isId(id) ? await identities.invitationsOf(asked) : [];
    if (received === undefined) throw notFound('Invitation');
    const { workspaceId } = received;
    return changes.in(workspaceId, async (tx) => {
      // Read again under the lock: the invitation may have been revoked, replaced or accepted meanwhile.
      const invitation = await invitations.find(tx, { workspaceId, id: received.id });
      if (invitation === null || invitation.email !== email) throw notFound('Invitation');
      const result = await run(tx, { workspaceId, invitation });
      await invitations.delete(tx, { workspaceId, id: invitation.id });
      return result;
    });
  }

  private audit(
    tx: PrismaTransaction,
    by: { readonly workspaceId: string; readonly id: string },
    entry: { readonly action: string; readonly invitation: Invitation },
  ): Promise<void> {
    const { action, invitation } = entry;
    const details = { email: invitation.email, role: invitation.role };
    const subject = { subjectType: 'Invitation', subjectId: invitation.id } as const;
    return this.parts.changes.audit(tx, { workspaceId: by.workspaceId, actor: by.id }, { action, ...subject, details });
  }
}

/** Whether the inviter, with their current role, could still create this invitation. */
function mayInvite(workspaceId: string, { userId, role: own }: Member, role: Role): boolean {
  const ability = defineAbility(userPrincipal({ workspaceId, userId, role: own, expiresAt: 0 }));
  try {
    assertCan(ability, { action: 'create', subject: 'Invitation', row: { workspaceId, role } });
    return true;
  } catch {
    return false;
  }
}
