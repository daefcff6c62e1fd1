import { Injectable } from '@nestjs/common';

import { isId, Prisma, PrismaService, type PrismaTransaction, type Scope, type SyntrixConnectionRow } from '#platform';

import type { SyntrixConnection, SyntrixSettings } from './syntrix-connection.js';

/** Several workspaces may use the same name. A delivery to a name is compared with the oldest connections; the others are reached by id. */
export const maxOfName = 50;

/** The Syntrix connections of workspaces. */
@Injectable()
export class SyntrixConnectionsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Those that the scope may read, oldest first, after the one with id `after`. */
  async list(
    tx: PrismaTransaction,
    scope: Scope,
    { take, after }: { readonly take: number; readonly after?: string | undefined },
  ): Promise<SyntrixConnection[]> {
    const where = { AND: [readable(scope), after === undefined ? {} : { id: { gt: after } }] };
    return (await tx.syntrixConnection.findMany({ where, orderBy: { id: 'asc' }, take })).map(toConnection);
  }

  /** Null: absent, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, name: string): Promise<SyntrixConnection | null> {
    const row = await tx.syntrixConnection.findFirst({ where: { AND: [readable(scope), { name }] } });
    return row === null ? null : toConnection(row);
  }

  count(tx: PrismaTransaction, { workspaceId }: Scope): Promise<number> {
    return tx.syntrixConnection.count({ where: { workspaceId } });
  }

  /** Workspaces that use the name; at most `maxOfName` are counted. Until the transaction ends, no other one takes the name. */
  async lockName(tx: PrismaTransaction, name: string): Promise<number> {
    await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('syntrix name:' || ${name}, 0))`;
    return (await this.named(name)).length;
  }

  /** Creates it, or replaces the settings of the one with this name. */
  async save(
    tx: PrismaTransaction,
    scope: Scope,
    { id, name, settings, owner }: Pick<SyntrixConnection, 'id' | 'name' | 'settings' | 'owner'>,
  ): Promise<SyntrixConnection> {
    const { workspaceId, principal: createdBy } = scope;
    const columns = { settings: { ...settings } as Prisma.InputJsonObject, createdBy, owner }; // parsed: nothing but JSON
    const row = await tx.syntrixConnection.upsert({
      where: { workspaceId_name: { workspaceId, name } },
      create: { workspaceId, id, name, ...columns },
      update: { ...columns, updatedAt: new Date() },
    });
    return toConnection(row);
  }

  async delete(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.syntrixConnection.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** For a job of the connection. Null: it was deleted. */
  async load(workspaceId: string, id: string): Promise<SyntrixConnection | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.syntrixConnection.findUnique({ where: { workspaceId_id: { workspaceId, id } } }),
    );
    return row === null ? null : toConnection(row);
  }

  /** The connections that a delivery to this id or name may be for, in all workspaces or in one; the signature shows which. */
  async named(ref: string, workspaceId?: string): Promise<SyntrixConnection[]> {
    if (ref.includes('\0')) return []; // no name has it, and Postgres rejects it
    const within = workspaceId === undefined ? {} : { workspaceId };
    const where = { ...(isId(ref) ? { id: ref } : { name: ref }), ...within };
    const rows = await this.prisma.asWorker((client) =>
      client.syntrixConnection.findMany({ where, orderBy: { createdAt: 'asc' }, take: maxOfName }),
    );
    return rows.map(toConnection);
  }
}

function readable(scope: Scope): Prisma.SyntrixConnectionWhereInput {
  return { AND: [scope.where('SyntrixConnection'), { workspaceId: scope.workspaceId }] };
}

function toConnection(row: SyntrixConnectionRow): SyntrixConnection {
  const { workspaceId, id, name, settings, createdBy, owner, createdAt, updatedAt } = row;
  return {
    ...{ workspaceId, id, name, createdBy, owner },
    settings: settings as unknown as SyntrixSettings, // parsed before it was stored
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  };
}
