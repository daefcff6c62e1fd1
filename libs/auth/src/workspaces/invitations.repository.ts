import type { InvitationRow, Prisma, PrismaTransaction, Scope } from '#platform';

import { isRole, type Role } from '../principal.js';

/** An offer of a role to an address, as the inviting workspace sees it: only what the inviter entered, and the times. */
export interface Invitation {
  readonly id: string;
  /** Lower-case. */
  readonly email: string;
  readonly role: Role;
  /** The member who created it. */
  readonly invitedBy: string;
  /** Both in ms since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** An invitation to be inserted. */
export interface NewInvitation extends Omit<Invitation, 'createdAt'> {
  readonly workspaceId: string;
}

/** The invitations of a workspace. The look-up by address is `IdentityRepository.invitationsOf`. */
export class InvitationsRepository {
  async insert(tx: PrismaTransaction, invitation: NewInvitation): Promise<Invitation> {
    const data = { ...invitation, expiresAt: new Date(invitation.expiresAt) };
    return toInvitation(await tx.invitation.create({ data }));
  }

  async findByEmail(tx: PrismaTransaction, key: { workspaceId: string; email: string }): Promise<Invitation | null> {
    const row = await tx.invitation.findUnique({ where: { workspaceId_email: key } });
    return row === null ? null : toInvitation(row);
  }

  async find(tx: PrismaTransaction, key: { workspaceId: string; id: string }): Promise<Invitation | null> {
    const row = await tx.invitation.findUnique({ where: { workspaceId_id: key } });
    return row === null ? null : toInvitation(row);
  }

  /** The invitations that the scope may read, ordered by id, after `after`. */
  async list(
    tx: PrismaTransaction,
    scope: Scope,
    page: { take: number; after: string | undefined },
  ): Promise<Invitation[]> {
    // The ability creates the scope's filter for exactly this table.
    const accessible = scope.where('Invitation') as Prisma.InvitationWhereInput;
    const beyond = page.after === undefined ? {} : { id: { gt: page.after } };
    const rows = await tx.invitation.findMany({
      where: { AND: [accessible, { workspaceId: scope.workspaceId }, beyond] },
      orderBy: { id: 'asc' },
      take: page.take,
    });
    return rows.map(toInvitation);
  }

  async delete(tx: PrismaTransaction, key: { workspaceId: string; id: string }): Promise<void> {
    await tx.invitation.delete({ where: { workspaceId_id: key } });
  }

  async deleteExpired(tx: PrismaTransaction, workspaceId: string, now: number): Promise<void> {
    await tx.invitation.deleteMany({ where: { workspaceId, expiresAt: { lte: new Date(now) } } });
  }

  count(tx: PrismaTransaction, workspaceId: string): Promise<number> {
    return tx.invitation.count({ where: { workspaceId } });
  }
}

function toInvitation(row: InvitationRow): Invitation {
  const { id, email, role, invitedBy, createdAt, expiresAt } = row;
  return {
    id,
    email,
    role: isRole(role) ? role : 'viewer', // the table's check constraint allows only roles
    invitedBy,
    createdAt: createdAt.getTime(),
    expiresAt: expiresAt.getTime(),
  };
}
