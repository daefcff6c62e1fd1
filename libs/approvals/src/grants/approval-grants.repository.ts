import { Injectable } from '@nestjs/common';

import { appendAudit, firstIdAt, newId, Prisma, PrismaService, type PrismaTransaction, systemClock } from '#platform';

/** A time-limited approval of one operation, in one thread, for one requester. */
export interface ApprovalGrant {
  readonly id: string;
  readonly threadId: string;
  /** The user whose calls it approves. */
  readonly requester: string;
  readonly agent: string | null;
  readonly operation: string;
  readonly policyVersion: number;
  /** The request whose decision gave the grant. */
  readonly interruptId: string;
  /** The principal id of the person who gave it. */
  readonly grantedBy: string;
  /** Instants in ms since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
  /** The principal id of the person who revoked it or changed the policy. */
  readonly revokedBy: string | null;
  /** Whether the grant approved calls at the moment of the read. */
  readonly isActive: boolean;
}

/** A grant to store. */
export interface NewGrant {
  readonly workspaceId: string;
  readonly threadId: string;
  readonly requester: string;
  readonly agent: string | null;
  readonly operation: string;
  readonly minutes: number;
  readonly interruptId: string;
  readonly grantedBy: string;
}

/** The properties of a call that a grant must match. */
export interface GrantNeed {
  readonly threadId: string;
  readonly requester: string;
  readonly agent: string | null;
  readonly operation: string;
  readonly policyVersion: number;
}

/** Filters for a list of grants. */
export interface GrantFilter {
  /** Null: grants of all threads. */
  readonly threadId: string | null;
  /** True: only grants that still approve calls. */
  readonly isActive: boolean;
}

/** Whose grants a caller may see. Null: all grants of the workspace. A user id: the grants that this user gave or received. */
export type GrantAudience = string | null;

interface Row {
  readonly id: string;
  readonly thread_id: string;
  readonly requester: string;
  readonly agent: string;
  readonly operation: string;
  readonly policy_version: number;
  readonly interrupt_id: string;
  readonly granted_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly revoked_at: Date | null;
  readonly revoked_by: string | null;
  readonly is_active: boolean;
}

/** The longest lifetime of a grant, plus a minute for clocks that differ. */
const longestMs = 31 * 60_000;

/**
 * Whether a grant still applies. It ends with the membership of its giver or its requester. If the giver used an API key, it also ends with
 * that key.
 */
const holds = Prisma.sql`(g.revoked_at IS NULL AND g.expires_at > clock_timestamp()
   AND g.policy_version = coalesce((SELECT max(p.version) FROM approval_policy p WHERE p.workspace_id = g.workspace_id), 0)
   AND EXISTS (SELECT FROM membership m WHERE m.workspace_id = g.workspace_id AND m.user_id = g.requester)
   AND CASE
     WHEN g.granted_by ~ '^user:[0-9a-f-]{36}$' THEN EXISTS (SELECT FROM membership m
       WHERE m.workspace_id = g.workspace_id AND m.user_id = substr(g.granted_by, 6)::uuid)
     WHEN g.granted_by ~ '^key:[0-9a-f-]{36}$' THEN EXISTS (SELECT FROM api_key k
       JOIN membership m ON m.workspace_id = k.workspace_id AND m.user_id = k.user_id
       WHERE k.workspace_id = g.workspace_id AND k.id = substr(g.granted_by, 5)::uuid AND k.revoked_at IS NULL
         AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()))
     ELSE false END)`;

const columns = Prisma.sql`g.id, g.thread_id, g.requester, g.agent, g.operation, g.policy_version, g.interrupt_id, g.granted_by,
  g.created_at, g.expires_at, g.revoked_at, g.revoked_by, ${holds} AS is_active`;

/**
 * The grants that an audience may see. Null: all grants; otherwise the grants for that user, and those that the user gave, also with an API
 * key.
 */
const visibleTo = (workspaceId: string, audience: GrantAudience) => Prisma.sql`g.workspace_id = ${workspaceId}::uuid
   AND (${audience}::uuid IS NULL OR g.requester = ${audience}::uuid OR g.granted_by = 'user:' || (${audience}::uuid)::text
     OR g.granted_by IN (SELECT 'key:' || k.id FROM api_key k
          WHERE k.workspace_id = ${workspaceId}::uuid AND k.user_id = ${audience}::uuid))`;

const firstId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Stores timed grants. The caller has checked the rights. */
@Injectable()
export class ApprovalGrantsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Runs in the transaction of the decision, which audits it. The grant gets the policy version that is current in this transaction. */
  async insert(tx: PrismaTransaction, grant: NewGrant): Promise<string> {
    const { workspaceId, threadId, requester, agent, operation, minutes, interruptId, grantedBy } = grant;
    const id = newId();
    // The database's clock sets the expiry, because the same clock checks it.
    await tx.$executeRaw`
      INSERT INTO approval_grant (workspace_id, id, thread_id, requester, agent, operation, interrupt_id, granted_by,
        policy_version, created_at, expires_at)
      VALUES (${workspaceId}::uuid, ${id}::uuid, ${threadId}::uuid, ${requester}::uuid, ${agent ?? ''}, ${operation},
        ${interruptId}::uuid, ${grantedBy},
        coalesce((SELECT max(version) FROM approval_policy WHERE workspace_id = ${workspaceId}::uuid), 0),
        clock_timestamp(), clock_timestamp() + ${minutes}::int * interval '1 minute')`;
    const subject = { subjectType: 'ApprovalGrant', subjectId: id };
    const details = { operation, threadId, minutes, interruptId };
    await appendAudit(tx, { workspaceId, actor: grantedBy, action: 'approval-grant-created', ...subject, details });
    return id;
  }

  /** Of the grants that approve such a call now, the one that expires last; null: no grant does. */
  async findUsable(workspaceId: string, need: GrantNeed): Promise<{ id: string; grantedBy: string } | null> {
    const { threadId, requester, agent, operation, policyVersion } = need;
    const [row] = await this.prisma.queryInWorkspace<{ id: string; grantedBy: string }>(
      { workspaceId },
      Prisma.sql`SELECT g.id, g.granted_by AS "grantedBy" FROM approval_grant g
       WHERE g.workspace_id = ${workspaceId}::uuid AND g.thread_id = ${threadId}::uuid AND g.requester = ${requester}::uuid
         AND g.agent = ${agent ?? ''} AND g.operation = ${operation} AND g.policy_version = ${policyVersion} AND ${holds}
       ORDER BY g.expires_at DESC LIMIT 1`,
    );
    return row ?? null;
  }

  /** Records in the audit log that a call ran under the grant. */
  async recordUse(workspaceId: string, use: { grantId: string; jobId: string; tool: string }): Promise<void> {
    const { grantId, ...details } = use;
    const subject = { subjectType: 'ApprovalGrant', subjectId: grantId };
    const entry = { workspaceId, actor: 'system', action: 'approval-grant-used', ...subject, details };
    await this.prisma.withWorkspace({ workspaceId }, (tx) => appendAudit(tx, entry));
  }

  /** Newest first. Reads at most one row more than `take`. */
  async list(
    workspaceId: string,
    audience: GrantAudience,
    page: { readonly filter: GrantFilter; readonly take: number; readonly after: string | undefined },
  ): Promise<ApprovalGrant[]> {
    const { filter, take, after } = page;
    const { threadId, isActive } = filter;
    // Ids are in order of time, so an active grant is among the newest rows, and older rows need not be read.
    const oldest = isActive ? firstIdAt(systemClock.now() - longestMs) : firstId;
    const rows = await this.prisma.queryInWorkspace<Row>(
      { workspaceId },
      Prisma.sql`SELECT ${columns} FROM approval_grant g
       WHERE ${visibleTo(workspaceId, audience)} AND g.id < ${after ?? lastId}::uuid AND g.id >= ${oldest}::uuid
         AND (${threadId}::uuid IS NULL OR g.thread_id = ${threadId}::uuid) AND (NOT ${isActive}::boolean OR ${holds})
       ORDER BY g.workspace_id DESC, g.id DESC LIMIT ${take}`,
    );
    return rows.map(toGrant);
  }

  /** Returns null if the grant does not exist or the audience may not see it. */
  async find(workspaceId: string, audience: GrantAudience, id: string): Promise<ApprovalGrant | null> {
    const [row] = await this.prisma.queryInWorkspace<Row>(
      { workspaceId },
      Prisma.sql`SELECT ${columns} FROM approval_grant g WHERE ${visibleTo(workspaceId, audience)} AND g.id = ${id}::uuid`,
    );
    return row === undefined ? null : toGrant(row);
  }

  /** Revokes the grant and adds an entry to the audit log. A grant that has ended does not change. */
  async revoke(workspaceId: string, { id, by }: { readonly id: string; readonly by: string }): Promise<void> {
    const data = { revokedAt: new Date(), revokedBy: by };
    await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const where = { workspaceId, id, revokedAt: null };
      const [ended] = await tx.approvalGrant.updateManyAndReturn({ where, data });
      if (ended === undefined) return;
      const { operation, threadId } = ended;
      const subject = { subjectType: 'ApprovalGrant', subjectId: id, details: { operation, threadId } };
      await appendAudit(tx, { workspaceId, actor: by, action: 'approval-grant-revoked', ...subject });
    });
  }

  /** Revokes all active grants, because they were given under another policy. */
  async endAll(
    tx: PrismaTransaction,
    { workspaceId, by }: { readonly workspaceId: string; readonly by: string },
  ): Promise<void> {
    const now = systemClock.now();
    const active = { id: { gte: firstIdAt(now - longestMs) }, revokedAt: null, expiresAt: { gt: new Date(now) } };
    const data = { revokedAt: new Date(now), revokedBy: by };
    await tx.approvalGrant.updateMany({ where: { workspaceId, ...active }, data });
  }
}

function toGrant(row: Row): ApprovalGrant {
  return {
    id: row.id,
    threadId: row.thread_id,
    requester: row.requester,
    agent: row.agent === '' ? null : row.agent,
    operation: row.operation,
    policyVersion: row.policy_version,
    interruptId: row.interrupt_id,
    grantedBy: row.granted_by,
    createdAt: row.created_at.getTime(),
    expiresAt: row.expires_at.getTime(),
    revokedAt: row.revoked_at?.getTime() ?? null,
    revokedBy: row.revoked_by,
    isActive: row.is_active,
  };
}
