import type { Prisma, PrismaTransaction, Scope } from '#platform';

import { isRole, type Role } from '../principal.js';

/** A user as a member of one workspace. */
export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** In ms since the epoch. */
  readonly createdAt: number;
}

/** The key of a membership. */
export interface MembershipKey {
  readonly workspaceId: string;
  readonly userId: string;
}

const WITH_USER = { user: { select: { email: true, name: true } } } as const;
type Row = Prisma.MembershipGetPayload<{ include: typeof WITH_USER }>;

/** The members of a workspace and their roles. */
export class MembershipsRepository {
  /** Returns null if the user is not a member. */
  async find(tx: PrismaTransaction, key: MembershipKey): Promise<Member | null> {
    const row = await tx.membership.findUnique({ where: { workspaceId_userId: pick(key) }, include: WITH_USER });
    return row === null ? null : toMember(row);
  }

  /** Ordered by user id, after `after`. Empty for a principal who may not read members. */
  async list(
    tx: PrismaTransaction,
    scope: Scope,
    page: { take: number; after: string | undefined },
  ): Promise<Member[]> {
    // The ability creates the scope's filter for exactly this table.
    const accessible = scope.where('Membership') as Prisma.MembershipWhereInput;
    const beyond = page.after === undefined ? {} : { userId: { gt: page.after } };
    const rows = await tx.membership.findMany({
      where: { AND: [accessible, { workspaceId: scope.workspaceId }, beyond] },
      orderBy: { userId: 'asc' },
      take: page.take,
      include: WITH_USER,
    });
    return rows.map(toMember);
  }

  async insert(tx: PrismaTransaction, key: MembershipKey, role: Role): Promise<Member> {
    await tx.membership.create({ data: { ...pick(key), role } });
    return this.findOrFail(tx, key);
  }

  async changeRole(tx: PrismaTransaction, key: MembershipKey, role: Role): Promise<Member> {
    await tx.membership.update({ where: { workspaceId_userId: pick(key) }, data: { role, updatedAt: new Date() } });
    return this.findOrFail(tx, key);
  }

  async delete(tx: PrismaTransaction, key: MembershipKey): Promise<void> {
    await tx.membership.delete({ where: { workspaceId_userId: pick(key) } });
  }

  /** Whether a member of the workspace has this address. */
  async hasEmail(tx: PrismaTransaction, workspaceId: string, email: string): Promise<boolean> {
    return (await tx.membership.count({ where: { workspaceId, user: { email } } })) > 0;
  }

  countOwners(tx: PrismaTransaction, workspaceId: string): Promise<number> {
    return tx.membership.count({ where: { workspaceId, role: 'owner' } });
  }

  // Two statements, because row-level security shows a user only through the membership, which must be written first.
  private async findOrFail(tx: PrismaTransaction, key: MembershipKey): Promise<Member> {
    const member = await this.find(tx, key);
    if (member === null) throw new Error('a membership that was just written is missing');
    return member;
  }
}

function pick({ workspaceId, userId }: MembershipKey): MembershipKey {
  return { workspaceId, userId };
}

function toMember(row: Row): Member {
  const { userId, createdAt, user } = row;
  // The table's check constraint allows only roles.
  return {
    userId,
    email: user.email,
    name: user.name,
    role: isRole(row.role) ? row.role : 'viewer',
    createdAt: createdAt.getTime(),
  };
}
