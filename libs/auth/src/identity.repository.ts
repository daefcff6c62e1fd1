import { newId, Prisma, type PrismaService } from '#platform';

import type { VerifiedToken } from './jwt-verifier.js';
import { isKeyScope, isRole, type KeyScope, type Role } from './principal.js';

/** An API key as it is now, found by its prefix. */
export interface KeyRecord {
  readonly workspaceId: string;
  readonly id: string;
  readonly prefix: string;
  readonly userId: string;
  readonly hash: Uint8Array;
  readonly scopes: readonly KeyScope[];
  /** Both in ms since the epoch. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The current role of the key's user in the key's workspace; null: no longer a member. */
  readonly role: Role | null;
}

/** A user and their memberships, ordered by workspace id. */
export interface UserRecord {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly memberships: readonly MembershipRecord[];
}

/** One membership of a user. */
export interface MembershipRecord {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly role: Role;
  /** In ms since the epoch. */
  readonly createdAt: number;
}

/** An open invitation as the invited person sees it. */
export interface ReceivedInvitation {
  readonly id: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly role: Role;
  /** The address of the member who created it. */
  readonly invitedBy: string;
  /** Both in ms since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

interface InvitationRow {
  workspace_id: string;
  workspace_name: string;
  id: string;
  role: string;
  invited_by: string;
  created_at: Date;
  expires_at: Date;
}

interface KeyRow {
  workspace_id: string;
  id: string;
  user_id: string;
  hash: Uint8Array;
  scopes: string[];
  expires_at: Date | null;
  revoked_at: Date | null;
  role: string | null;
}

interface UserRow {
  email: string;
  name: string;
  workspace_id: string | null;
  workspace_name: string;
  role: string;
  created_at: Date;
}

/**
 * Reads that happen before a workspace is known. Each one calls a reviewed SECURITY DEFINER function (see the identity migration). Everything
 * else about identity goes through `withWorkspace`.
 */
export class IdentityRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Reads the keys with these prefixes in one statement. The results are in the order of the prefixes; null for an unknown prefix. */
  async keysByPrefix(prefixes: readonly string[]): Promise<(KeyRecord | null)[]> {
    const rows = await this.read<KeyRow & { readonly prefix: string }>(Prisma.sql`
      SELECT p.prefix, k.workspace_id, k.id, k.user_id, k.hash, k.scopes, k.expires_at, k.revoked_at, k.role
      FROM unnest(${[...prefixes]}::text[]) AS p (prefix) CROSS JOIN LATERAL identity_key(p.prefix) AS k`);
    const keys = new Map(rows.map((row) => [row.prefix, toKeyRecord(row.prefix, row)]));
    return prefixes.map((prefix) => keys.get(prefix) ?? null);
  }

  async user(id: string): Promise<UserRecord | null> {
    const rows = await this.read<UserRow>(Prisma.sql`
      SELECT email, name, workspace_id, workspace_name, role, created_at FROM identity_memberships(${id}::uuid)`);
    const [first] = rows;
    if (first === undefined) return null;
    const memberships = rows.flatMap((row) =>
      row.workspace_id !== null && isRole(row.role)
        ? [
            {
              workspaceId: row.workspace_id,
              workspaceName: row.workspace_name,
              role: row.role,
              createdAt: row.created_at.getTime(),
            },
          ]
        : [],
    );
    return { id, email: first.email, name: first.name, memberships };
  }

  /**
   * The invitations of a verified address that are open at `now` (ms since the epoch), newest first: those older than `after`,
   * or only the one with the given id.
   */
  async invitationsOf(asked: {
    readonly email: string;
    readonly now: number;
    readonly take: number;
    readonly id?: string | undefined;
    readonly after?: string | undefined;
  }): Promise<ReceivedInvitation[]> {
    const { email, now, take, id = null, after = null } = asked;
    const rows = await this.read<InvitationRow>(Prisma.sql`
      SELECT workspace_id, workspace_name, id, role, invited_by, created_at, expires_at
        FROM identity_invitations(${email}, ${id}::uuid, ${after}::uuid, ${take}::int, ${new Date(now)})`);
    return rows.map((row) => ({
      id: row.id,
      workspaceId: row.workspace_id,
      workspaceName: row.workspace_name,
      role: isRole(row.role) ? row.role : 'viewer', // the table's check constraint allows only roles
      invitedBy: row.invited_by,
      createdAt: row.created_at.getTime(),
      expiresAt: row.expires_at.getTime(),
    }));
  }

  /** The id of the user with this address. An unknown user is created, without memberships. */
  userByEmail(user: { readonly email: string; readonly name: string }): Promise<string> {
    return this.userId(Prisma.sql`SELECT identity_user_by_email(${newId()}::uuid, ${user.email}, ${user.name}) AS id`);
  }

  /**
   * The id of the user of a verified token. An unknown token is linked to the user with its verified address, if that user has not signed
   * in yet; otherwise a user is created.
   */
  userBySubject(token: Pick<VerifiedToken, 'issuer' | 'subject' | 'email' | 'name'>): Promise<string> {
    const { issuer, subject, email, name } = token;
    return this.userId(Prisma.sql`
      SELECT identity_user_by_subject(${newId()}::uuid, ${issuer}, ${subject}, ${email}, ${name}) AS id`);
  }

  /** Stores when a key was used, at most once a minute. A new hash, if given, is stored at once. */
  async touchKey(
    key: Pick<KeyRecord, 'workspaceId' | 'id'>,
    at: number,
    hash: Uint8Array | null = null,
  ): Promise<void> {
    const { workspaceId, id } = key;
    const aMinuteAgo = new Date(at - 60_000);
    const isDue = hash === null ? { OR: [{ lastUsedAt: null }, { lastUsedAt: { lte: aMinuteAgo } }] } : {};
    const data = { lastUsedAt: new Date(at), ...(hash === null ? {} : { hash: Uint8Array.from(hash) }) };
    await this.prisma.withWorkspace(key, (tx) => tx.apiKey.updateMany({ where: { workspaceId, id, ...isDue }, data }));
  }

  private async userId(sql: Prisma.Sql): Promise<string> {
    const [row] = await this.read<{ id: string }>(sql);
    if (row === undefined) throw new Error('an identity function returned no row');
    return row.id;
  }

  private read<Row>(sql: Prisma.Sql): Promise<Row[]> {
    return this.prisma.outsideWorkspaces((client) => client.$queryRaw<Row[]>(sql));
  }
}

function toKeyRecord(prefix: string, row: KeyRow): KeyRecord {
  return {
    workspaceId: row.workspace_id,
    id: row.id,
    prefix,
    userId: row.user_id,
    hash: row.hash,
    scopes: row.scopes.filter(isKeyScope),
    expiresAt: row.expires_at?.getTime() ?? null,
    revokedAt: row.revoked_at?.getTime() ?? null,
    role: row.role !== null && isRole(row.role) ? row.role : null,
  };
}
