import { openOwnerPrisma } from '#platform';

import { isRole, type Role } from '../principal.js';

/** A workspace in the operator's list. */
export interface ListedWorkspace {
  readonly id: string;
  readonly name: string;
  readonly members: number;
  /** Addresses of its owners. */
  readonly owners: readonly string[];
  /** In ms since the epoch. */
  readonly createdAt: number;
}

/** A user in the operator's list. */
export interface ListedUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Whether a person has signed in as this user with a token. */
  readonly signsIn: boolean;
  readonly workspaces: number;
  readonly createdAt: number;
}

/**
 * Reads across workspaces, for the operator only, on a connection with the migrating login (DATABASE_URL) that acts as `nightshift_owner`. No
 * serving process has such a connection.
 */
export class OperatorDirectory {
  private constructor(private readonly client: ReturnType<typeof openOwnerPrisma>) {}

  static async connect(ownerUrl: string): Promise<OperatorDirectory> {
    const directory = new OperatorDirectory(openOwnerPrisma(ownerUrl));
    await directory.client.$queryRaw`SELECT 1`; // a wrong login fails here and not in the middle of a command
    return directory;
  }

  async workspaces(): Promise<ListedWorkspace[]> {
    const rows = await this.client.workspace.findMany({
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      select: {
        ...{ id: true, name: true, createdAt: true, _count: { select: { memberships: true } } },
        memberships: { where: { role: 'owner' }, select: { user: { select: { email: true } } } },
      },
    });
    return rows.map(({ id, name, createdAt, _count, memberships }) => ({
      id,
      name,
      createdAt: createdAt.getTime(),
      members: _count.memberships,
      owners: memberships.map(({ user }) => user.email).sort(),
    }));
  }

  async users(): Promise<ListedUser[]> {
    const rows = await this.client.user.findMany({
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      select: {
        ...{ id: true, email: true, name: true, issuer: true, createdAt: true },
        _count: { select: { memberships: true } },
      },
    });
    return rows.map(({ issuer, createdAt, _count, ...user }) => ({
      ...user,
      signsIn: issuer !== null,
      createdAt: createdAt.getTime(),
      workspaces: _count.memberships,
    }));
  }

  /** Returns null if no user has this address. */
  async userIdOf(email: string): Promise<string | null> {
    return (await this.client.user.findUnique({ where: { email }, select: { id: true } }))?.id ?? null;
  }

  /** Returns null if the workspace does not exist, or the user is not a member of it. */
  async roleOf(workspaceId: string, userId: string): Promise<Role | null> {
    const where = { workspaceId_userId: { workspaceId, userId } };
    const role = (await this.client.membership.findUnique({ where, select: { role: true } }))?.role;
    return role !== undefined && isRole(role) ? role : null;
  }

  async hasWorkspace(id: string): Promise<boolean> {
    return (await this.client.workspace.count({ where: { id } })) === 1;
  }

  close(): Promise<void> {
    return this.client.$disconnect();
  }
}
